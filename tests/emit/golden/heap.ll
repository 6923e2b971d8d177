; A scratch array in some iterations, larger each time: one buffer, and one shadow, that grow.
; SHADOWED: x
; RUN: x=8 n=7
; CHECK-LABEL: augmented
; CHECK: make.larger:
; CHECK: call ptr @irad_tape
; CHECK: call ptr @irad_tape
; CHECK: call void @llvm.memset
; CHECK-NOT: call ptr @irad_alloc
; CHECK: ret i32 0
; CHECK-LABEL: reverse
; CHECK: reverse.make:
; CHECK: call void @llvm.memset
define void @f(ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %latch ]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %j = add i64 %i, 1
  %odd = and i64 %i, 1
  %skip = icmp eq i64 %odd, 1
  br i1 %skip, label %latch, label %make
make:
  %size = mul i64 %j, 16
  %t = call ptr @irad_alloc(i64 %size, i32 32)
  %q = getelementptr i8, ptr %t, i64 8
  store double %v, ptr %t
  store double 2.0, ptr %q
  %u = load double, ptr %t
  %w = load double, ptr %q
  %m = fmul double %u, %w
  store double %m, ptr %q
  %k = load double, ptr %q
  %s = call double @llvm.exp.f64(double %k)
  store double %s, ptr %p
  br label %latch
latch:
  %r = load double, ptr %p
  %z = call double @llvm.sin.f64(double %r)
  store double %z, ptr %x
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  ret void
}

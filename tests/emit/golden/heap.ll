; A scratch array in each iteration: its shadow is made beside it.
; SHADOWED: x
; RUN: x=4 n=3
; CHECK-LABEL: augmented
; CHECK: %t = call ptr @irad_alloc(i64 16, i32 32)
; CHECK-NEXT: call ptr @irad_tape(i64 16, i32 64)
; CHECK: call void @llvm.memset.p0.i64(ptr {{%\d+}}, i8 0, i64 16, i1 false)
define void @f(ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %t = call ptr @irad_alloc(i64 16, i32 32)
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  store double %v, ptr %t
  %q = getelementptr i8, ptr %t, i64 8
  store double 2.0, ptr %q
  %u = load double, ptr %t
  %w = load double, ptr %q
  %m = fmul double %u, %w
  %s = call double @llvm.exp.f64(double %m)
  store double %s, ptr %p
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  ret void
}

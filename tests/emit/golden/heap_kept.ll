; An array that is read in the next iteration is not shared: each has its own shadow.
; SHADOWED: x y
; RUN: x=8 y=1 n=5
; CHECK-LABEL: augmented
; CHECK: %t = call ptr @irad_alloc(i64 16, i32 32)
; CHECK-NEXT: call ptr @irad_tape(i64 16, i32 64)
; CHECK: call void @llvm.memset.p0.i64(ptr {{%\d+}}, i8 0, i64 16, i1 false)
define void @f(ptr %x, ptr %y, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %old = phi ptr [ %y, %entry ], [ %t, %loop ]
  %t = call ptr @irad_alloc(i64 16, i32 32)
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %o = load double, ptr %old
  %m = fmul double %v, %o
  %s = call double @llvm.sin.f64(double %m)
  store double %s, ptr %t
  store double %s, ptr %p
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  ret void
}

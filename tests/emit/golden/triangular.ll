; The inner count depends on the outer iteration: the inner loop has a buffer of its own in each.
; SHADOWED: x
; RUN: x=6 n=5
; CHECK-LABEL: augmented
; CHECK: call ptr @irad_tape
; CHECK: outer{{.*}}:
; CHECK: call ptr @irad_tape
; CHECK: inner{{.*}}:
; CHECK-NOT: call ptr @irad_tape
; CHECK: ret i32 0
define void @f(ptr %x, i64 %n) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  %p = getelementptr double, ptr %x, i64 %i
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j1, %inner ]
  %q = getelementptr double, ptr %x, i64 %j
  %u = load double, ptr %q
  %v = load double, ptr %p
  %m = fmul double %u, %v
  %s = call double @llvm.sin.f64(double %m)
  store double %s, ptr %p
  %j1 = add i64 %j, 1
  %more = icmp sle i64 %j1, %i
  br i1 %more, label %inner, label %latch
latch:
  %i1 = add i64 %i, 1
  %go = icmp slt i64 %i1, %n
  br i1 %go, label %outer, label %out
out:
  ret void
}

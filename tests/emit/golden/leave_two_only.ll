; The only exit of the outer loop lies in the inner one, and leaves both.
; SHADOWED: x
; RUN: x=2 n=5 m=3
; CHECK-LABEL: augmented
; CHECK: %last.outer = 
; CHECK: %count.outer = phi
; CHECK: %last.inner = phi
define void @f(ptr %x, i64 %n, i64 %m) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  %i1 = add i64 %i, 1
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j1, %next ]
  %v = load double, ptr %x
  %s = call double @llvm.sin.f64(double %v)
  store double %s, ptr %x
  %on = icmp slt i64 %i1, %n
  br i1 %on, label %next, label %out
next:
  %j1 = add i64 %j, 1
  %more = icmp slt i64 %j1, %m
  br i1 %more, label %inner, label %latch
latch:
  br label %outer
out:
  ret void
}

; Two buffers that change places in every iteration.
; SHADOWED: x y
; RUN: x=2 y=2 n=5
; CHECK-LABEL: augmented
; CHECK: %p.shadow = phi ptr [ %x.shadow, {{.*}} ], [ %q.shadow, %loop ]
; CHECK: %q.shadow = phi ptr [ %y.shadow, {{.*}} ], [ %p.shadow, %loop ]
define void @f(ptr %x, ptr %y, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = phi ptr [ %x, %entry ], [ %q, %loop ]
  %q = phi ptr [ %y, %entry ], [ %p, %loop ]
  %v = load double, ptr %p
  %w = load double, ptr %q
  %m = fmul double %v, %w
  %s = call double @llvm.sin.f64(double %m)
  store double %s, ptr %q
  %j = add i64 %i, 1
  %go = icmp ne i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  ret void
}

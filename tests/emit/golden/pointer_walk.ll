; A pointer that advances by a step: start and step times the counter, for the shadow as well.
; SHADOWED: x
; RUN: x=9 n=4
; CHECK-LABEL: reverse
; CHECK: %q.shadow = getelementptr [2 x double], ptr {{%\d+}}, i64 {{%\d+}}
define void @f(ptr %x, i64 %n) {
entry:
  %end = getelementptr double, ptr %x, i64 %n
  br label %loop
loop:
  %i = phi i64 [ %n, %entry ], [ %j, %loop ]
  %p = phi ptr [ %x, %entry ], [ %q, %loop ]
  %q = getelementptr inbounds [2 x double], ptr %p, i64 1
  %v = load double, ptr %p
  %s = call double @llvm.sin.f64(double %v)
  %w = load double, ptr %q
  %m = fmul double %s, %w
  store double %m, ptr %p
  %j = add nsw i64 %i, -1
  %go = icmp sgt i64 %i, 1
  br i1 %go, label %loop, label %out
out:
  ret void
}

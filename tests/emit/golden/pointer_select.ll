; A pointer that is chosen has a shadow that is chosen alike.
; SHADOWED: x y
; RUN: x=2 y=2 n=1
; RUN: x=2 y=2 n=7
; CHECK-LABEL: augmented
; CHECK: %p.shadow = select i1 %c, ptr %x.shadow, ptr %y.shadow
; CHECK: %q.shadow = getelementptr double, ptr %p.shadow, i64 1
define void @f(ptr %x, ptr %y, i64 %n) {
entry:
  %c = icmp slt i64 %n, 5
  %p = select i1 %c, ptr %x, ptr %y
  %q = getelementptr double, ptr %p, i64 1
  %v = load double, ptr %q
  %w = load double, ptr %x
  %m = fmul double %v, %w
  store double %m, ptr %p
  ret void
}

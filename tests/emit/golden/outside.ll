; A header phi that takes, from the second iteration on, a value from outside the loop.
; ACTIVE: a b
; SHADOWED: x
; RUN: x=2 n=4 a=0.3 b=0.9
; CHECK-LABEL: reverse
; CHECK: reverse.loop.to.entry:
; CHECK: reverse.loop.to.loop:
; CHECK: reverse.entry:
; CHECK: done:
define void @f(ptr %x, i64 %n, double %a, double %b) {
entry:
  %c = fmul double %b, %b
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %u = phi double [ %a, %entry ], [ %c, %loop ]
  %v = load double, ptr %x
  %m = fmul double %v, %u
  store double %m, ptr %x
  %j = add i64 %i, 1
  %go = icmp ne i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  ret void
}

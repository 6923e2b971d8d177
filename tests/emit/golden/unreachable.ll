; A block that ends the program has no reverse, and neither has one that nothing reaches.
; SHADOWED: x
; RUN: x=1 n=4
; CHECK-LABEL: augmented
; CHECK: unreachable
; CHECK-NOT: never:
; CHECK: %r = phi double [ %m, %ok ]
; CHECK-LABEL: reverse
; CHECK-NOT: reverse.dead
; CHECK: ret i32 0
define void @f(ptr %x, i64 %n) {
entry:
  %v = load double, ptr %x
  %bad = icmp slt i64 %n, 0
  br i1 %bad, label %dead, label %ok
ok:
  %m = fmul double %v, %v
  br label %out
dead:
  unreachable
never:
  br label %out
out:
  %r = phi double [ %m, %ok ], [ 1.0, %never ]
  store double %r, ptr %x
  ret void
}

; Two exits: the last iteration is a phi at each, and the exits join again.
; SHADOWED: x
; RUN: x=8 n=6
; RUN: x=8 n=2
; CHECK-LABEL: augmented
; CHECK: %last.loop = phi i64 [ %count.loop
; CHECK: %last.loop.1 = phi i64 [ %count.loop
; CHECK: %from.out = phi i8 [ 0, %early ], [ 1, %full ]
define void @f(ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %s = call double @llvm.sin.f64(double %v)
  store double %s, ptr %p
  %low = fcmp olt double %s, -0.9
  br i1 %low, label %early, label %next
next:
  %t = load double, ptr %p
  %t2 = fmul double %t, %t
  store double %t2, ptr %x
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %full
early:
  %z = phi double [ %s, %loop ]
  %e = fmul double %z, 3.0
  store double %e, ptr %x
  br label %out
full:
  br label %out
out:
  ret void
}

; A value overwritten in a loop of known count: saved in an array sized at the preheader.
; SHADOWED: x
; RUN: x=1 n=4
; RUN: x=1 n=1
; CHECK-LABEL: augmented
; CHECK: %last.loop = select
; CHECK: %count.loop = phi i64 [ 0, %entry
; CHECK: store double %v, ptr {{%\d+}}
; CHECK-LABEL: reverse
; CHECK: label %reverse.loop.to.entry, label %reverse.loop.to.loop
; CHECK: reverse.loop.to.loop:
; CHECK-NEXT: sub i64 {{%\d+}}, 1
define void @f(ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %v = load double, ptr %x
  %s = call double @llvm.sin.f64(double %v)
  store double %s, ptr %x
  %j = add nuw nsw i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  ret void
}

; The way back is decided by the condition, which is kept; no arrival index is stored.
; ACTIVE: a
; SHADOWED: x
; RUN: x=1 n=3 a=0.7
; RUN: x=1 n=9 a=0.7
; CHECK-LABEL: augmented
; CHECK: %from.out = select i1 %c, i8 0, i8 1
; CHECK-LABEL: reverse
; CHECK: reverse.out:
; CHECK: icmp eq i8 {{%\d+}}, 0
; CHECK-NEXT: br i1 {{%\d+}}, label %reverse.out.to.yes, label %reverse.out.to.no
define void @f(ptr %x, i64 %n, double %a) {
entry:
  %v = load double, ptr %x
  %c = icmp slt i64 %n, 5
  br i1 %c, label %yes, label %no
yes:
  %p = fmul double %v, %a
  br label %out
no:
  %q = fdiv double %v, %a
  br label %out
out:
  %r = phi double [ %p, %yes ], [ %q, %no ]
  store double %r, ptr %x
  ret void
}

; The return block is reached by an error that knows nothing of the condition: an arrival index is kept instead.
; ACTIVE: a
; SHADOWED: x
; RUN: x=1 n=3 a=0.7
; RUN: x=1 n=9 a=0.7
; CHECK-LABEL: augmented
; CHECK: %from.out = phi i8 [ 0, %entry ], [ 0, %yes ], [ 1, %no ]
; CHECK-LABEL: reverse
; CHECK: label %reverse.out.to.yes, label %reverse.out.to.no
define i32 @f(ptr %x, i64 %n, double %a) {
entry:
  %bad = icmp slt i64 %n, 0
  br i1 %bad, label %out, label %ok
ok:
  %v = load double, ptr %x
  %c = icmp slt i64 %n, 5
  br i1 %c, label %yes, label %no
yes:
  %p = fmul double %v, %a
  store double %p, ptr %x
  br label %out
no:
  %q = fdiv double %v, %a
  store double %q, ptr %x
  br label %out
out:
  %s = phi i32 [ 1, %entry ], [ 0, %yes ], [ 0, %no ]
  ret i32 %s
}

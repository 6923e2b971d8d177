; Cases that share a target are several edges from one block.
; ACTIVE: a
; SHADOWED: x
; RUN: x=1 n=0 a=0.7
; RUN: x=1 n=1 a=0.7
; RUN: x=1 n=2 a=0.7
; RUN: x=1 n=3 a=0.7
; CHECK-LABEL: augmented
; CHECK: %from.out = phi i8 [ 0, %entry ], [ 0, %entry ], [ 1, %other ], [ 2, %two ]
; CHECK-LABEL: reverse
; CHECK: switch i8
define void @f(ptr %x, i64 %n, double %a) {
entry:
  %v = load double, ptr %x
  switch i64 %n, label %other [
    i64 0, label %out
    i64 1, label %out
    i64 2, label %two
  ]
other:
  %p = fmul double %v, %a
  br label %out
two:
  %q = fdiv double %v, %a
  br label %out
out:
  %r = phi double [ %v, %entry ], [ %v, %entry ], [ %p, %other ], [ %q, %two ]
  store double %r, ptr %x
  ret void
}

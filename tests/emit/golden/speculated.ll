; A division whose result may be discarded passes on no infinity.
; ACTIVE: a
; SHADOWED: x
; RUN: x=1 a=0.7
; CHECK-LABEL: reverse
; CHECK: fcmp uno double
; CHECK: select i1 {{%\d+}}, double 0x0000000000000000
define void @f(ptr %x, double %a) {
entry:
  %v = load double, ptr %x
  %r = fdiv double %a, %v
  %c = fcmp une double %v, 0.0
  %s = select i1 %c, double %r, double 0.0
  store double %s, ptr %x
  ret void
}

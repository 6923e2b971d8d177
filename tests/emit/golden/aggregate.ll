; Pairs of floats are stored and loaded whole.
; ACTIVE: a
; SHADOWED: x
; RUN: x=4 a=0.7
; CHECK-LABEL: reverse
; CHECK: store { double, double } zeroinitializer
; CHECK: store { double, double } zeroinitializer
; CHECK-LABEL: tangent
; CHECK: store { double, double } {{%\d+}}, ptr %q.shadow
define void @f(ptr %x, double %a) {
entry:
  %p = load { double, double }, ptr %x
  %u = extractvalue { double, double } %p, 0
  %v = extractvalue { double, double } %p, 1
  %m = fmul double %u, %v
  %n = fmul double %v, %a
  %r = insertvalue { double, double } %p, double %m, 1
  %s = insertvalue { double, double } %r, double %n, 0
  %q = getelementptr i8, ptr %x, i64 16
  store { double, double } %s, ptr %q
  store { double, double } %r, ptr %x
  ret void
}

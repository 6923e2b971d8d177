; A float32 in float64 arithmetic: widened, and narrowed on the way back.
; SHADOWED: x
; RUN: x=2
; CHECK-LABEL: reverse
; CHECK: fmul double
; CHECK-NOT: fpext
; CHECK: ret i32 0
; CHECK-LABEL: tangent
; CHECK-NOT: fptrunc double {{%\d+}}
; CHECK: ret i32 0
define void @f(ptr %x) {
entry:
  %v = load double, ptr %x
  %s = fptrunc double %v to float
  %m = fmul float %s, 2.0
  %w = fpext float %m to double
  %k = fmul double %v, %v
  store double %k, ptr %x
  %q = getelementptr i8, ptr %x, i64 8
  store double %v, ptr %q
  ret void
}

; One load, one store, arithmetic between them: the operand of sin and the loaded value are kept.
; ACTIVE: a
; SHADOWED: x
; RUN: x=1 a=0.7
; CHECK-LABEL: augmented
; CHECK: %m = fmul double %v, %a
; CHECK: store double %m, ptr {{.*}}, align 8
; CHECK-NOT: store double %s, ptr %frame
; CHECK: ret i32 0
; CHECK-LABEL: reverse
; CHECK: call double @llvm.cos.f64
; CHECK: store double {{%\d+}}, ptr %bars
; CHECK-LABEL: tangent
; CHECK: store double {{%\d+}}, ptr %x.shadow
define void @f(ptr %x, double %a) {
entry:
  %v = load double, ptr %x
  %m = fmul double %v, %a
  %s = call double @llvm.sin.f64(double %m)
  store double %s, ptr %x
  ret void
}

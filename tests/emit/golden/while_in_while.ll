; A growing buffer in each record of a growing buffer.
; SHADOWED: x
; RUN: x=3
; CHECK-LABEL: augmented
; CHECK: outer.full:
; CHECK: inner.full:
; CHECK: %last.inner = phi
; CHECK: %last.outer = phi
define void @f(ptr %x) {
entry:
  br label %outer
outer:
  %p = getelementptr i8, ptr %x, i64 8
  store double 2.0, ptr %p
  br label %inner
inner:
  %v = load double, ptr %p
  %u = load double, ptr %x
  %m = fmul double %v, %u
  %s = call double @llvm.sin.f64(double %m)
  %d = fadd double %s, 0.75
  %w = fdiv double %v, 1.5
  store double %w, ptr %p
  %e = fmul double %d, 0x3FEE666666666666
  %f = fmul double %u, %e
  store double %f, ptr %x
  %more = fcmp ogt double %w, 0.5
  br i1 %more, label %inner, label %latch
latch:
  %y = load double, ptr %x
  %a = call double @llvm.fabs.f64(double %y)
  %q = getelementptr i8, ptr %x, i64 16
  %k = load double, ptr %q
  %k1 = fmul double %y, %k
  store double %k1, ptr %q
  %go = fcmp ogt double %a, 0.05
  br i1 %go, label %outer, label %out
out:
  ret void
}
declare double @llvm.sin.f64(double)
declare double @llvm.fabs.f64(double)

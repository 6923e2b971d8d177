; The count is not known on entry: records are appended to a buffer that grows.
; SHADOWED: x
; RUN: x=1
; CHECK-LABEL: augmented
; CHECK: loop.full:
; CHECK: call i64 @llvm.umax.i64(i64 {{%\d+}}, i64 16)
; CHECK: loop.full.some:
; CHECK-NEXT: mul i64
; CHECK-NEXT: call void @llvm.memcpy
; CHECK: %last.loop = phi i64 [ %count.loop, {{.*}} ]
define void @f(ptr %x) {
entry:
  store double 40.0, ptr %x
  br label %loop
loop:
  %v = load double, ptr %x
  %s = fmul double %v, 0x3FEE666666666666
  %t = fmul double %s, %s
  %w = fdiv double %t, %v
  store double %w, ptr %x
  %go = fcmp ogt double %w, 1.0
  br i1 %go, label %loop, label %out
out:
  ret void
}

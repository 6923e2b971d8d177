; A stack slot that holds a pointer, and one that holds floats: both have a shadow.
; SHADOWED: x y
; RUN: x=2 y=2 n=1
; RUN: x=2 y=2 n=9
; CHECK-LABEL: augmented
; CHECK: %slot = alloca ptr
; CHECK: store ptr %x, ptr %slot
; CHECK-NEXT: store ptr %x.shadow, ptr
; CHECK-LABEL: tangent
; CHECK: store ptr %y, ptr %slot
; CHECK-NEXT: store ptr %y.shadow, ptr %slot.shadow
define void @f(ptr %x, ptr %y, i64 %n) {
entry:
  %slot = alloca ptr
  %room = alloca [2 x double]
  %c = icmp slt i64 %n, 5
  br i1 %c, label %yes, label %no
yes:
  store ptr %x, ptr %slot
  br label %out
no:
  store ptr %y, ptr %slot
  br label %out
out:
  %p = load ptr, ptr %slot
  %v = load double, ptr %p
  store double %v, ptr %room
  %s = call double @llvm.sin.f64(double %v)
  store double %s, ptr %p
  %u = load double, ptr %room
  %m = fmul double %u, %s
  store double %m, ptr %x
  ret void
}

; A double that travels as an i64 has a derivative of type double.
; SHADOWED: x y
; RUN: x=2 y=2 n=1
; RUN: x=2 y=2 n=9
; CHECK-LABEL: augmented
; CHECK: %a = load i64, ptr %x
; CHECK-LABEL: reverse
; CHECK: load double
; CHECK-NOT: load i64
; CHECK: ret i32 0
define void @f(ptr %x, ptr %y, i64 %n) {
entry:
  %a = load i64, ptr %x
  %b = load i64, ptr %y
  %c = icmp slt i64 %n, 5
  %s = select i1 %c, i64 %a, i64 %b
  %q = getelementptr i8, ptr %y, i64 8
  store i64 %s, ptr %q
  %v = load double, ptr %q
  %m = fmul double %v, %v
  store double %m, ptr %x
  ret void
}

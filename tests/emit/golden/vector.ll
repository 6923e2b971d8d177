; Vectors are saved where doubles may lie.
; SHADOWED: x
; RUN: x=4 n=3
; CHECK-LABEL: augmented
; CHECK: store <4 x double> %v, ptr {{%\d+}}, align 8
; CHECK-LABEL: reverse
; CHECK: load <4 x double>, ptr {{%\d+}}, align 8
define void @f(ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %v = load <4 x double>, ptr %x, align 8
  %m = fmul <4 x double> %v, %v
  %k = fadd <4 x double> %m, <double 0.1, double 0.2, double 0.3, double 0.4>
  store <4 x double> %k, ptr %x, align 8
  %j = add i64 %i, 1
  %h = load double, ptr %x
  %big = fcmp olt double %h, 5.0
  %few = icmp slt i64 %j, %n
  %go = and i1 %big, %few
  br i1 %go, label %loop, label %out
out:
  ret void
}

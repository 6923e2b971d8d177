; Both counts are known before the outer loop: one array of two indices.
; SHADOWED: x
; RUN: x=1 n=3 m=4
; CHECK-LABEL: augmented
; CHECK: call ptr @irad_tape
; CHECK-NOT: call ptr @irad_tape
; CHECK: mul i64 %count.outer, {{%\d+}}
; CHECK-NEXT: add i64 {{%\d+}}, %count.inner
define void @f(ptr %x, i64 %n, i64 %m) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j1, %inner ]
  %v = load double, ptr %x
  %s = call double @llvm.sin.f64(double %v)
  store double %s, ptr %x
  %j1 = add i64 %j, 1
  %more = icmp ne i64 %j1, %m
  br i1 %more, label %inner, label %latch
latch:
  %i1 = add i64 %i, 1
  %go = icmp slt i64 %i1, %n
  br i1 %go, label %outer, label %out
out:
  ret void
}

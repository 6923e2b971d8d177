; A switch that leaves a loop by two edges to one block.
; SHADOWED: x
; RUN: x=1 n=4
; CHECK-LABEL: augmented
; CHECK: %last.loop = phi i64 [ %count.loop, %loop{{.*}} ], [ %count.loop, %loop{{.*}} ]
define void @f(ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %n, %entry ], [ %j, %next ]
  %v = load double, ptr %x
  %s = call double @llvm.sin.f64(double %v)
  store double %s, ptr %x
  switch i64 %i, label %next [
    i64 0, label %out
    i64 1, label %out
  ]
next:
  %j = sub i64 %i, 3
  br label %loop
out:
  ret void
}

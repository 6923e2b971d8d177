; The inner loop is entered under a condition: its count is computed early and is zero where the condition fails.
; SHADOWED: x
; RUN: x=1 n=3 m=4
; RUN: x=1 n=3 m=-3
; RUN: x=1 n=3 m=0
; CHECK-LABEL: augmented
; CHECK: %some = icmp sgt i64 %m, 0
; CHECK-NEXT: select i1 %some, i64 {{%\d+}}, i64 0
; CHECK: outer:
; CHECK-NOT: call ptr @irad_tape
; CHECK: ret i32 0
define void @f(ptr %x, i64 %n, i64 %m) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  %some = icmp sgt i64 %m, 0
  br i1 %some, label %before, label %latch
before:
  br label %inner
inner:
  %j = phi i64 [ 0, %before ], [ %j1, %inner ]
  %v = load double, ptr %x
  %s = call double @llvm.sin.f64(double %v)
  store double %s, ptr %x
  %j1 = add i64 %j, 1
  %more = icmp ne i64 %j1, %m
  br i1 %more, label %inner, label %after
after:
  br label %latch
latch:
  %i1 = add i64 %i, 1
  %go = icmp slt i64 %i1, %n
  br i1 %go, label %outer, label %out
out:
  ret void
}

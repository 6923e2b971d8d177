; An edge that leaves two loops at once, beside the usual exits.
; SHADOWED: x
; RUN: x=8 n=3 m=3
; RUN: x=8 n=3 m=2
; CHECK-LABEL: reverse
; CHECK: reverse.both:
; CHECK: store i64 {{%\d+}}, ptr %0
; CHECK: store i64 {{%\d+}}, ptr %1
; CHECK: br label %reverse.inner
define void @f(ptr %x, i64 %n, i64 %m) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j1, %next ]
  %v = load double, ptr %x
  %s = call double @llvm.sin.f64(double %v)
  store double %s, ptr %x
  %ij = add i64 %i, %j
  %leave = icmp eq i64 %ij, 3
  br i1 %leave, label %both, label %next
next:
  %j1 = add i64 %j, 1
  %more = icmp slt i64 %j1, %m
  br i1 %more, label %inner, label %latch
latch:
  %i1 = add i64 %i, 1
  %go = icmp slt i64 %i1, %n
  br i1 %go, label %outer, label %usual
both:
  %b = load double, ptr %x
  %b2 = fmul double %b, %b
  store double %b2, ptr %x
  br label %out
usual:
  br label %out
out:
  ret void
}

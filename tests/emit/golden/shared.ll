; A value of the outer iteration is read in the inner loop: once, where the reverse of the outer iteration begins.
; SHADOWED: x
; RUN: x=6 n=3 m=4
; CHECK-LABEL: reverse
; CHECK: reverse.latch:
; CHECK: load double
; CHECK: br label %reverse.inner
define void @f(ptr %x, i64 %n, i64 %m) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %s = call double @llvm.sin.f64(double %v)
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j1, %inner ]
  %q = getelementptr i8, ptr %p, i64 8
  %u = load double, ptr %q
  %w = fmul double %s, %u
  store double %w, ptr %q
  %j1 = add i64 %j, 1
  %more = icmp slt i64 %j1, %m
  br i1 %more, label %inner, label %latch
latch:
  %t = load double, ptr %p
  %t2 = fmul double %t, %s
  %r = call double @llvm.sin.f64(double %t2)
  store double %r, ptr %p
  %i1 = add i64 %i, 1
  %go = icmp slt i64 %i1, %n
  br i1 %go, label %outer, label %out
out:
  ret void
}

; A value of the outer iteration exists in some iterations only: it is not read before the way back is known.
; SHADOWED: x
; RUN: x=6 n=5 m=4
; RUN: x=6 n=5 m=1
; CHECK-LABEL: reverse
; CHECK: reverse.latch:
; CHECK: br i1 {{.*}}, label %reverse.latch.to.outer, label %reverse.latch.to.after
define void @f(ptr %x, i64 %n, i64 %m) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %odd = and i64 %i, 1
  %skip = icmp eq i64 %odd, 0
  br i1 %skip, label %latch, label %pre
pre:
  %s = call double @llvm.sin.f64(double %v)
  %d = sdiv i64 %m, %i
  %e = sitofp i64 %d to double
  br label %inner
inner:
  %j = phi i64 [ 0, %pre ], [ %j1, %inner ]
  %q = getelementptr i8, ptr %p, i64 8
  %u = load double, ptr %q
  %w = fmul double %s, %u
  %z = fmul double %w, %e
  %y = call double @llvm.sin.f64(double %z)
  store double %y, ptr %q
  %j1 = add i64 %j, 1
  %more = icmp slt i64 %j1, %m
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

; The outer loop may be left in its middle: its reverse does not always begin at the latch.
; SHADOWED: x
; RUN: x=8 n=5 m=4
; RUN: x=8 n=2 m=4
; CHECK-LABEL: reverse
; CHECK: reverse.stop:
; CHECK: store i64 {{.*}}, ptr
; CHECK: br label %reverse.after
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
  br i1 %more, label %inner, label %after
after:
  %leave = icmp eq i64 %i, 3
  br i1 %leave, label %stop, label %latch
latch:
  store double %s, ptr %p
  %i1 = add i64 %i, 1
  %go = icmp slt i64 %i1, %n
  br i1 %go, label %outer, label %out
stop:
  br label %end
out:
  br label %end
end:
  %k = load double, ptr %x
  %k2 = fmul double %k, %k
  store double %k2, ptr %x
  ret void
}

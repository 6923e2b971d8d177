; Values of the last iteration are used after the loop, and a merge has three ways.
; ACTIVE: a
; SHADOWED: x
; RUN: x=3 n=3 a=0.4
; RUN: x=3 n=8 a=0.4
; RUN: x=3 n=-1 a=0.4
; CHECK-LABEL: augmented
; CHECK: %from.out = phi i8 [ 0, %entry ], [ 1, %early ], [ 2, %full ]
; CHECK-LABEL: reverse
; CHECK: switch i8 {{%\d+}}, label %reverse.out.to.entry
define void @f(ptr %x, i64 %n, double %a) {
entry:
  %none = icmp slt i64 %n, 1
  br i1 %none, label %out, label %pre
pre:
  br label %loop
loop:
  %i = phi i64 [ 0, %pre ], [ %j, %next ]
  %u = phi double [ %a, %pre ], [ %w, %next ]
  %w = call double @llvm.sin.f64(double %u)
  %four = icmp eq i64 %i, 4
  br i1 %four, label %early, label %next
next:
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %full
early:
  %e = phi double [ %u, %loop ]
  br label %out
full:
  %g = phi double [ %w, %next ]
  br label %out
out:
  %r = phi double [ %a, %entry ], [ %e, %early ], [ %g, %full ]
  %v = load double, ptr %x
  %m = fmul double %r, %v
  store double %m, ptr %x
  ret void
}

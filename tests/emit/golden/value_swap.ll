; Phis that exchange their values: all adjoints are taken before any is handed on.
; ACTIVE: a b
; SHADOWED: x
; RUN: x=2 n=4 a=0.3 b=0.9
; CHECK-LABEL: tangent
; CHECK: %u.dot = phi double [ %a.dot, %entry ], [ %v.dot, %loop ]
; CHECK: %v.dot = phi double [ %b.dot, %entry ]
define void @f(ptr %x, i64 %n, double %a, double %b) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %u = phi double [ %a, %entry ], [ %v, %loop ]
  %v = phi double [ %b, %entry ], [ %w, %loop ]
  %w = call double @llvm.sin.f64(double %u)
  %j = add i64 %i, 1
  %go = icmp ne i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  %p = phi double [ %u, %loop ]
  %q = phi double [ %v, %loop ]
  %r = phi double [ %w, %loop ]
  %m = fmul double %p, %q
  %k = fadd double %m, %r
  store double %k, ptr %x
  ret void
}

; A loop without active values is not reversed, nor is the branch around it.
; SHADOWED: x
; RUN: x=1 n=4
; CHECK-LABEL: reverse
; CHECK: reverse.out:
; CHECK-NOT: reverse.loop
; CHECK: br label %reverse.entry
; CHECK-NEXT: reverse.entry:
define void @f(ptr %x, i64 %n) {
entry:
  %v = load double, ptr %x
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %before, label %out
before:
  br label %loop
loop:
  %i = phi i64 [ 0, %before ], [ %j, %loop ]
  %t = phi i64 [ 1, %before ], [ %u, %loop ]
  %u = mul i64 %t, 3
  %j = add i64 %i, 1
  %go = icmp ne i64 %j, %n
  br i1 %go, label %loop, label %after
after:
  %last = phi i64 [ %u, %loop ]
  br label %out
out:
  %k = phi i64 [ 0, %entry ], [ %last, %after ]
  %d = sitofp i64 %k to double
  %m = fmul double %v, %d
  store double %m, ptr %x
  ret void
}

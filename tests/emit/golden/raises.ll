; A loop that may end in an error: the reverse sees one exit, and the count is known.
; SHADOWED: x
; RUN: x=6 n=5
; CHECK-LABEL: augmented
; CHECK: %last.loop = select
; CHECK-LABEL: reverse
; CHECK-NOT: reverse.error
; CHECK: ret i32 0
define i32 @f(ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %bad = fcmp oeq double %v, 12345.0
  br i1 %bad, label %error, label %next
next:
  %s = call double @llvm.sin.f64(double %v)
  store double %s, ptr %x
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
error:
  br label %out
out:
  %status = phi i32 [ 0, %next ], [ 3, %error ]
  ret i32 %status
}

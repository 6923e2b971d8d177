; Memory moves as a block: the adjoint adds to the source and leaves zeros behind.
; SHADOWED: x y
; RUN: x=6 y=6
; CHECK-LABEL: reverse
; CHECK: call void @llvm.memset.p0.i64
; CHECK: call void @irad.copy.adjoint.double
; CHECK: call void @irad.copy.adjoint.double
; CHECK-LABEL: irad.copy.adjoint.double
; CHECK: icmp ult ptr %to, %source
; CHECK-LABEL: tangent
; CHECK: call void @llvm.memcpy.p0.p0.i64(ptr %y.shadow, ptr %x.shadow, i64 24, i1 false)
define void @f(ptr %x, ptr %y) {
entry:
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 24, i1 false)
  %v = load double, ptr %y
  %m = fmul double %v, %v
  store double %m, ptr %x
  %q = getelementptr i8, ptr %x, i64 8
  call void @llvm.memmove.p0.p0.i64(ptr %q, ptr %x, i64 32, i1 false)
  call void @llvm.memset.p0.i64(ptr %y, i8 0, i64 8, i1 false)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

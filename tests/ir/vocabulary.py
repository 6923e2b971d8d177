"""What LLVM can say and Numba seldom does."""

# ruff: noqa: E501
VOCABULARY = r"""
source_filename = "a b"
module asm "nop"

%pair = type { double, i32 }
%"odd name" = type <{ i8, %pair }>
%hidden = type opaque
$group = comdat any

@number = internal unnamed_addr constant double 1.5, align 8
@table = private constant [3 x i16] [i16 1, i16 -2, i16 3], section "data", align 2
@text = constant [4 x i8] c"a;\22\00"
@mixed = global { ptr, <2 x float>, %pair } { ptr @text, <2 x float> splat (float 2.0), %pair { double 0.0, i32 7 } }
@packed = constant <{ i8, i32 }> <{ i8 1, i32 2 }>
@inside = global ptr getelementptr inbounds (i8, ptr @table, i64 2)
@range = global ptr getelementptr inrange(-2, 4) (i8, ptr @table, i64 2)
@address = global i64 sub (i64 ptrtoint (ptr @table to i64), i64 4)
@absolute = external thread_local(initialexec) global i32
@other = alias double, ptr @number
@"quoted \22 \CE\B1" = common global ptr null
@far = external addrspace(3) global i32

declare i32 @printf(ptr noundef, ...)
declare void @llvm.assume(i1 noundef)
declare noalias ptr @make(i64, i32 immarg) allocsize(0)
declare double @llvm.experimental.constrained.fadd.f64(double, double, metadata, metadata)
declare fastcc void @nothing()
declare void @wide(ptr byval(%pair) align 8, ptr sret({ double, i32 }), i64 range(i64 0, 5), float nofpclass(nan inf))

define linkonce_odr hidden fastcc noundef double @unnamed(double %0, ptr noalias nonnull align 8 %1) #0 comdat($group) {
  %3 = fadd nnan nsz double %0, 1.000000e-01
  %4 = call fast double @llvm.experimental.constrained.fadd.f64(double %3, double %3, metadata !"round.dynamic", metadata !"fpexcept.strict")
  %5 = fcmp ult double %4, 0x7FF0000000000000
  br i1 %5, label %6, label %8, !prof !0

6:
  %7 = phi double [ %4, %2 ]
  ret double %7

8:
  ret double -0.000000e+00
}

define void @integers(i64 %a, i1 %c, i8 %"b c") {
entry:
  %add = add nuw nsw i64 %a, -5
  %or = or disjoint i64 %add, 8
  %div = sdiv exact i64 %or, 4
  %cmp = icmp samesign ult i64 %div, 100
  %wide = zext nneg i8 %"b c" to i64
  %less = trunc nuw nsw i64 %wide to i8
  %frozen = freeze i64 %wide
  %big = mul i128 1267650600228229401496703205376, 3
  %pick = select i1 %c, i1 %cmp, i1 true
  switch i64 %frozen, label %end [
    i64 0, label %one
    i64 -3, label %end
    i64 9, label %end
  ]

one:
  switch i1 %pick, label %two [
    i1 true, label %end
  ]

two:
  unreachable

end:
  %p = phi i64 [ %a, %entry ], [ %a, %entry ], [ %a, %entry ], [ undef, %one ]
  ret void
}

define i32 @memory(ptr %p, ptr addrspace(3) %q, i32 %n) {
  %buffer = alloca [4 x i32], i32 %n, align 16
  %v = load volatile i32, ptr %p, align 4, !range !1
  %w = load atomic i32, ptr %p seq_cst, align 4
  store atomic volatile i32 %w, ptr %p release, align 4
  %far = load i32, ptr addrspace(3) %q, align 4
  %g = getelementptr inbounds nuw %pair, ptr %p, i64 0, i32 1
  %h = getelementptr nusw i8, ptr %g, i32 %far
  %x = atomicrmw volatile fadd ptr %p, float 1.000000e+00 monotonic, align 4
  %y = cmpxchg weak ptr %p, i32 %v, i32 %w acq_rel monotonic, align 4
  fence acquire
  %old = extractvalue { i32, i1 } %y, 0
  %near = addrspacecast ptr addrspace(3) %q to ptr
  %i = ptrtoint ptr %near to i64
  %j = inttoptr i64 %i to ptr
  ret i32 %old
}

define void @calls(ptr %f, double %x) personality ptr @nothing {
  %1 = call i32 (ptr, ...) @printf(ptr noundef nonnull dereferenceable(4) @text, double %x, i32 3) #1
  tail call fastcc void @nothing()
  notail call void %f(ptr sret(%pair) align 8 %f), !callees !2
  %2 = call zeroext i8 @small(i8 signext 3)
  %3 = call i32 asm sideeffect "mov $1, $0", "=r,r"(i32 4)
  call void @llvm.assume(i1 true) [ "cold"() ]
  %4 = call cc 300 i64 inttoptr (i64 4096 to ptr)(i64 poison)
  ret void
}

declare zeroext i8 @small(i8 signext)

define <4 x double> @vectors(<4 x double> %a, <vscale x 2 x double> %s, <4 x ptr> %p, { [2 x float], i1 } %t) {
  %e = extractelement <4 x double> %a, i32 3
  %b = insertelement <4 x double> poison, double %e, i64 0
  %c = shufflevector <4 x double> %b, <4 x double> poison, <4 x i32> zeroinitializer
  %d = shufflevector <4 x double> %b, <4 x double> %c, <2 x i32> <i32 0, i32 7>
  %r = shufflevector <vscale x 2 x double> %s, <vscale x 2 x double> poison, <vscale x 2 x i32> zeroinitializer
  %m = fcmp fast ogt <4 x double> %c, splat (double 5.000000e-01)
  %n = fneg reassoc contract <4 x double> %c
  %o = select nsz <4 x i1> %m, <4 x double> %n, <4 x double> %a
  %g = getelementptr double, <4 x ptr> %p, <4 x i64> <i64 0, i64 1, i64 2, i64 3>
  %h = getelementptr i8, ptr @text, <4 x i64> zeroinitializer
  %k = icmp eq <4 x ptr> %g, %h
  %f = extractvalue { [2 x float], i1 } %t, 0, 1
  %u = insertvalue { [2 x float], i1 } %t, float %f, 0, 0
  %half = fptrunc float %f to half
  %one = fadd half %half, 0xH3C00
  %long = fpext half %one to x86_fp80
  %sum = fadd x86_fp80 %long, 0xK3FFF8000000000000000
  %z = fadd <4 x double> %o, <double 1.0, double 0x3FB999999999999A, double undef, double -2.5e-7>
  ret <4 x double> %z
}

define i64 @order(i64 %n) !meta !3 {
start:
  br label %later

earlier:
  %twice = add i64 %next, %next
  ret i64 %twice

later:
  %i = phi i64 [ 0, %start ], [ %next, %later ]
  %next = add i64 %i, 1
  %done = icmp uge i64 %next, %n
  br i1 %done, label %earlier, label %later, !llvm.loop !4
}

attributes #0 = { nounwind memory(argmem: read) "key"="va;lue" }
attributes #1 = { cold }

!named = !{!0}
!0 = !{!"branch_weights", i32 1, i32 99}
!1 = !{i32 0, i32 10}
!2 = !{ptr @nothing, ptr @calls}
!3 = distinct !{}
!4 = distinct !{!4}
"""

; What CUDA has and LLVM has not, in terms of OpenCL's functions. `opencl_names.py` makes the definitions that are alike.
; A warp is a sub-group of 32. "llvm.nvvm." has lost its "llvm.": LLVM would take those names for its own.

declare spir_func void @_Z7barrierj(i32) convergent
declare spir_func i32 @_Z14work_group_alli(i32) convergent
declare spir_func i32 @_Z14work_group_anyi(i32) convergent
declare spir_func i32 @_Z21work_group_reduce_addi(i32) convergent
declare spir_func i32 @_Z22get_sub_group_local_idv()
declare spir_func i32 @_Z17sub_group_shuffleij(i32, i32) convergent
declare spir_func <4 x i32> @_Z16sub_group_balloti(i32) convergent
declare spir_func void @_Z17sub_group_barrierj(i32) convergent

; ---- barriers: 3 is CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE

define void @nvvm.barrier0() convergent {
  call spir_func void @_Z7barrierj(i32 3)
  ret void
}

define i32 @nvvm.barrier0.and(i32 %holds) convergent {
  %one = icmp ne i32 %holds, 0
  %bit = zext i1 %one to i32
  call spir_func void @_Z7barrierj(i32 3)
  %all = call spir_func i32 @_Z14work_group_alli(i32 %bit)
  ret i32 %all
}

define i32 @nvvm.barrier0.or(i32 %holds) convergent {
  %one = icmp ne i32 %holds, 0
  %bit = zext i1 %one to i32
  call spir_func void @_Z7barrierj(i32 3)
  %any = call spir_func i32 @_Z14work_group_anyi(i32 %bit)
  ret i32 %any
}

define i32 @nvvm.barrier0.popc(i32 %holds) convergent {
  %one = icmp ne i32 %holds, 0
  %bit = zext i1 %one to i32
  call spir_func void @_Z7barrierj(i32 3)
  %count = call spir_func i32 @_Z21work_group_reduce_addi(i32 %bit)
  ret i32 %count
}

define void @nvvm.membar.cta() {
  fence seq_cst
  ret void
}

define void @nvvm.membar.gl() {
  fence seq_cst
  ret void
}

define void @nvvm.membar.sys() {
  fence seq_cst
  ret void
}

define void @"asm.nanosleep.u32"(i32 %nanoseconds) {
  ret void
}

; ---- warps

define i32 @nvvm.read.ptx.sreg.warpsize() {
  ret i32 32
}

define i32 @nvvm.read.ptx.sreg.laneid() {
  %lane = call spir_func i32 @_Z22get_sub_group_local_idv()
  ret i32 %lane
}

define void @nvvm.bar.warp.sync(i32 %mask) convergent {
  call spir_func void @_Z17sub_group_barrierj(i32 3)
  ret void
}

define i32 @"asm.activemask.b32"() convergent {
  %ballot = call spir_func <4 x i32> @_Z16sub_group_balloti(i32 1)
  %mask = extractelement <4 x i32> %ballot, i32 0
  ret i32 %mask
}

; PTX's `shfl`: mode 0 idx, 1 up, 2 down, 3 bfly; `clamp` holds the last lane and, from bit 8 on, a mask of segments.
define {i32, i1} @nvvm.shfl.sync.i32(i32 %mask, i32 %mode, i32 %value, i32 %b, i32 %clamp) convergent {
  %lane = call spir_func i32 @_Z22get_sub_group_local_idv()
  %high = lshr i32 %clamp, 8
  %segment = and i32 %high, 31
  %most = and i32 %clamp, 31
  %within = xor i32 %segment, 31
  %first = and i32 %lane, %segment
  %rest = and i32 %most, %within
  %last = or i32 %first, %rest
  switch i32 %mode, label %idx [i32 1, label %up i32 2, label %down i32 3, label %bfly]
idx:
  %low = and i32 %b, %within
  %lane.idx = or i32 %first, %low
  %in.idx = icmp sle i32 %lane.idx, %last
  br label %go
up:
  %lane.up = sub i32 %lane, %b
  %in.up = icmp sge i32 %lane.up, %last
  br label %go
down:
  %lane.down = add i32 %lane, %b
  %in.down = icmp sle i32 %lane.down, %last
  br label %go
bfly:
  %lane.bfly = xor i32 %lane, %b
  %in.bfly = icmp sle i32 %lane.bfly, %last
  br label %go
go:
  %asked = phi i32 [%lane.idx, %idx], [%lane.up, %up], [%lane.down, %down], [%lane.bfly, %bfly]
  %in = phi i1 [%in.idx, %idx], [%in.up, %up], [%in.down, %down], [%in.bfly, %bfly]
  %from = select i1 %in, i32 %asked, i32 %lane
  %got = call spir_func i32 @_Z17sub_group_shuffleij(i32 %value, i32 %from)
  %half = insertvalue {i32, i1} undef, i32 %got, 0
  %both = insertvalue {i32, i1} %half, i1 %in, 1
  ret {i32, i1} %both
}

; PTX's `vote`: mode 0 all, 1 any, 2 uni, 3 ballot.
define {i32, i1} @nvvm.vote.sync(i32 %mask, i32 %mode, i1 %holds) convergent {
  %bit = zext i1 %holds to i32
  %other = xor i32 %bit, 1
  %ballot.yes = call spir_func <4 x i32> @_Z16sub_group_balloti(i32 %bit)
  %ballot.no = call spir_func <4 x i32> @_Z16sub_group_balloti(i32 %other)
  %yes = extractelement <4 x i32> %ballot.yes, i32 0
  %no = extractelement <4 x i32> %ballot.no, i32 0
  %any = icmp ne i32 %yes, 0
  %all = icmp eq i32 %no, 0
  %none = xor i1 %any, true
  %uni = or i1 %all, %none
  %wants.any = icmp eq i32 %mode, 1
  %wants.uni = icmp eq i32 %mode, 2
  %any.or.all = select i1 %wants.any, i1 %any, i1 %all
  %said = select i1 %wants.uni, i1 %uni, i1 %any.or.all
  %half = insertvalue {i32, i1} undef, i32 %yes, 0
  %both = insertvalue {i32, i1} %half, i1 %said, 1
  ret {i32, i1} %both
}

; ---- atomics that LLVM has no instruction for, or that Numba asks for by name

define float @nvvm.atomic.load.add.f32.p0f32(ptr %at, float %x) {
  %old = atomicrmw fadd ptr %at, float %x monotonic
  ret float %old
}

define double @nvvm.atomic.load.add.f64.p0f64(ptr %at, double %x) {
  %old = atomicrmw fadd ptr %at, double %x monotonic
  ret double %old
}

define i32 @nvvm.atomic.load.inc.32.p0i32(ptr %at, i32 %most) {
  %1 = load atomic i32, ptr %at monotonic, align 4
  br label %again
again:
  %old = phi i32 [%1, %0], [%seen, %again]
  %more = add i32 %old, 1
  %over = icmp uge i32 %old, %most
  %new = select i1 %over, i32 0, i32 %more
  %both = cmpxchg ptr %at, i32 %old, i32 %new monotonic monotonic
  %seen = extractvalue {i32, i1} %both, 0
  %done = extractvalue {i32, i1} %both, 1
  br i1 %done, label %out, label %again
out:
  ret i32 %old
}

define i32 @nvvm.atomic.load.dec.32.p0i32(ptr %at, i32 %most) {
  %1 = load atomic i32, ptr %at monotonic, align 4
  br label %again
again:
  %old = phi i32 [%1, %0], [%seen, %again]
  %less = sub i32 %old, 1
  %zero = icmp eq i32 %old, 0
  %above = icmp ugt i32 %old, %most
  %over = or i1 %zero, %above
  %new = select i1 %over, i32 %most, i32 %less
  %both = cmpxchg ptr %at, i32 %old, i32 %new monotonic monotonic
  %seen = extractvalue {i32, i1} %both, 0
  %done = extractvalue {i32, i1} %both, 1
  br i1 %done, label %out, label %again
out:
  ret i32 %old
}

; ---- integers

declare i32 @llvm.cttz.i32(i32, i1)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.ctlz.i64(i64, i1)

define i32 @__nv_ffs(i32 %x) {
  %zeros = call i32 @llvm.cttz.i32(i32 %x, i1 0)
  %place = add i32 %zeros, 1
  %none = icmp eq i32 %x, 0
  %first = select i1 %none, i32 0, i32 %place
  ret i32 %first
}

define i32 @__nv_ffsll(i64 %x) {
  %zeros = call i64 @llvm.cttz.i64(i64 %x, i1 0)
  %place = add i64 %zeros, 1
  %none = icmp eq i64 %x, 0
  %first = select i1 %none, i64 0, i64 %place
  %short = trunc i64 %first to i32
  ret i32 %short
}

define i32 @__nv_popcll(i64 %x) {
  %ones = call i64 @llvm.ctpop.i64(i64 %x)
  %short = trunc i64 %ones to i32
  ret i32 %short
}

define i32 @__nv_clzll(i64 %x) {
  %zeros = call i64 @llvm.ctlz.i64(i64 %x, i1 0)
  %short = trunc i64 %zeros to i32
  ret i32 %short
}

declare float @llvm.rint.f32(float)
declare double @llvm.rint.f64(double)

define i64 @__nv_llrintf(float %x) {
  %near = call float @llvm.rint.f32(float %x)
  %whole = fptosi float %near to i64
  ret i64 %whole
}

define i64 @__nv_llrint(double %x) {
  %near = call double @llvm.rint.f64(double %x)
  %whole = fptosi double %near to i64
  ret i64 %whole
}

; What NVIDIA's compiler knows by itself and LLVM has in parts, one for each mode; see `by_llvm.RENAMED`.

declare {i32, i1} @llvm.nvvm.shfl.sync.idx.i32p(i32, i32, i32, i32)
declare {i32, i1} @llvm.nvvm.shfl.sync.up.i32p(i32, i32, i32, i32)
declare {i32, i1} @llvm.nvvm.shfl.sync.down.i32p(i32, i32, i32, i32)
declare {i32, i1} @llvm.nvvm.shfl.sync.bfly.i32p(i32, i32, i32, i32)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i1 @llvm.nvvm.vote.uni.sync(i32, i1)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)

define linkonce_odr {i32, i1} @shfl_of_any_mode(i32 %mask, i32 %mode, i32 %value, i32 %lane, i32 %clamp) #0 {
    switch i32 %mode, label %idx [i32 1, label %up i32 2, label %down i32 3, label %bfly]
idx:
    %1 = call {i32, i1} @llvm.nvvm.shfl.sync.idx.i32p(i32 %mask, i32 %value, i32 %lane, i32 %clamp)
    ret {i32, i1} %1
up:
    %2 = call {i32, i1} @llvm.nvvm.shfl.sync.up.i32p(i32 %mask, i32 %value, i32 %lane, i32 %clamp)
    ret {i32, i1} %2
down:
    %3 = call {i32, i1} @llvm.nvvm.shfl.sync.down.i32p(i32 %mask, i32 %value, i32 %lane, i32 %clamp)
    ret {i32, i1} %3
bfly:
    %4 = call {i32, i1} @llvm.nvvm.shfl.sync.bfly.i32p(i32 %mask, i32 %value, i32 %lane, i32 %clamp)
    ret {i32, i1} %4
}

define linkonce_odr {i32, i1} @vote_of_any_mode(i32 %mask, i32 %mode, i1 %holds) #0 {
    switch i32 %mode, label %all [i32 1, label %any i32 2, label %uni i32 3, label %ballot]
all:
    %1 = call i1 @llvm.nvvm.vote.all.sync(i32 %mask, i1 %holds)
    %2 = insertvalue {i32, i1} zeroinitializer, i1 %1, 1
    ret {i32, i1} %2
any:
    %3 = call i1 @llvm.nvvm.vote.any.sync(i32 %mask, i1 %holds)
    %4 = insertvalue {i32, i1} zeroinitializer, i1 %3, 1
    ret {i32, i1} %4
uni:
    %5 = call i1 @llvm.nvvm.vote.uni.sync(i32 %mask, i1 %holds)
    %6 = insertvalue {i32, i1} zeroinitializer, i1 %5, 1
    ret {i32, i1} %6
ballot:
    %7 = call i32 @llvm.nvvm.vote.ballot.sync(i32 %mask, i1 %holds)
    %8 = insertvalue {i32, i1} zeroinitializer, i32 %7, 0
    ret {i32, i1} %8
}

define linkonce_odr i32 @match_any_64(i32 %mask, i64 %value) #0 {
    %1 = call i32 asm sideeffect "match.any.sync.b64 $0, $1, $2;", "=r,l,r"(i64 %value, i32 %mask) convergent
    ret i32 %1
}

attributes #0 = { alwaysinline convergent nounwind }

# SPDX-License-Identifier: Apache-2.0
"""Exchanges, votes, matches and reductions inside a warp; barriers with reductions; special registers."""
from tables_memory import thread_case


def shuffles():
    for mode in ("up", "down", "bfly", "idx"):
        for clamp in (0x1F, 0x0, 0x181F, 0x1C1F, 0x1807, 0x1E01):
            for delta in ("1", "5", "%r1"):
                body = (f"ld.global.u32 %r0, [%d62];\nld.global.u32 %r1, [%d62+8];\nand.b32 %r1, %r1, 31;\n"
                        f"shfl.sync.{mode}.b32 %r2|%p0, %r0, {delta}, {clamp}, -1;\nselp.u32 %r3, 1, 0, %p0;\nst.global.v2.u32 [%d63], {{%r2, %r3}};")
                yield thread_case(f"shfl.{mode} c{clamp:x} d{delta.strip('%')}", body, 8, 2, generators="bits,index" if delta == "%r1" else "bits", threads=64)
        body = (f"ld.global.u32 %r0, [%d62];\nmov.u32 %r2, 77;\nand.b32 %r5, %r121, 1;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra EVEN;\n"
                f"shfl.sync.{mode}.b32 %r2, %r0, 2, 31, 0xAAAAAAAA;\nbra JOIN;\nEVEN:\nshfl.sync.{mode}.b32 %r2, %r0, 4, 31, 0x55555555;\nJOIN:\nst.global.u32 [%d63], %r2;")
        yield thread_case(f"shfl.{mode} halves", body, 4, 1, threads=64, about="each side of a branch exchanges within its own mask")
    body = ("ld.global.u32 %r0, [%d62];\nand.b32 %r1, %r0, 31;\nshfl.sync.idx.b32 %r2, %r0, %r1, 31, -1;\nst.global.u32 [%d63], %r2;")
    yield thread_case("shfl.idx random", body, 4, 1, threads=64)


def votes():
    for mode in ("all", "any", "uni"):
        body = (f"ld.global.u32 %r0, [%d62];\nmov.u32 %r5, 0;\n" + "".join(
            f"and.b32 %r1, %r0, {mask};\nsetp.ne.u32 %p0, %r1, 0;\nvote.sync.{mode}.pred %p1, %p0, -1;\nselp.u32 %r2, 1, 0, %p1;\nshl.b32 %r5, %r5, 1;\nor.b32 %r5, %r5, %r2;\n"
            for mask in (1, 3, 255, 65535, -1, 0)) + "st.global.u32 [%d63], %r5;")
        yield thread_case(f"vote.{mode}", body, 4, 1, threads=128)
    yield thread_case("vote.ballot", "ld.global.u32 %r0, [%d62];\nand.b32 %r1, %r0, 1;\nsetp.ne.u32 %p0, %r1, 0;\nvote.sync.ballot.b32 %r2, %p0, -1;\nvote.sync.ballot.b32 %r3, !%p0, -1;\nst.global.v2.u32 [%d63], {%r2, %r3};", 8)
    yield thread_case("vote.ballot halves", "ld.global.u32 %r0, [%d62];\nsetp.lt.s32 %p0, %r0, 0;\nsetp.gt.u32 %p1, %r121, 11;\n@%p1 bra HIGH;\nvote.sync.ballot.b32 %r2, %p0, 0xFFF;\nbra JOIN;\nHIGH:\nvote.sync.ballot.b32 %r2, %p0, 0xFFFFF000;\nJOIN:\nst.global.u32 [%d63], %r2;", 4, threads=32)
    yield thread_case("activemask", "and.b32 %r1, %r121, 3;\nsetp.eq.u32 %p0, %r1, 2;\nmov.u32 %r2, 0;\n@!%p0 bra JOIN;\nactivemask.b32 %r2;\nJOIN:\nst.global.u32 [%d63], %r2;", 4, threads=32, compare="skip", about="which lanes run together is not promised")
    for kind, width in (("b32", 32), ("b64", 64)):
        r = "r" if width == 32 else "d"
        yield thread_case(f"match.any.{kind}", f"ld.global.b{width} %{r}0, [%d62];\nmatch.any.sync.{kind} %r5, %{r}0, -1;\nst.global.u32 [%d63], %r5;", 4, generators="small")
        yield thread_case(f"match.all.{kind}", f"ld.global.b{width} %{r}0, [%d62];\nshr.u32 %r9, %r121, 5;\nsetp.eq.u32 %p1, %r9, 1;\n@%p1 mov.b{width} %{r}0, 3;\nmatch.all.sync.{kind} %r5|%p0, %{r}0, -1;\nselp.u32 %r6, 1, 0, %p0;\nst.global.v2.u32 [%d63], {{%r5, %r6}};", 8, generators="small")
    for op, kind in [(o, k) for o in ("add", "min", "max") for k in ("u32", "s32")] + [(o, "b32") for o in ("and", "or", "xor")]:
        yield thread_case(f"redux.{op}.{kind}", f"ld.global.u32 %r0, [%d62];\nredux.sync.{op}.{kind} %r1, %r0, -1;\nst.global.u32 [%d63], %r1;", 4, generators="i32")
        yield thread_case(f"redux.{op}.{kind} part", f"ld.global.u32 %r0, [%d62];\nmov.u32 %r1, 0;\nand.b32 %r2, %r121, 31;\nsetp.ge.u32 %p0, %r2, 20;\n@%p0 bra JOIN;\nredux.sync.{op}.{kind} %r1, %r0, 0xFFFFF;\nJOIN:\nst.global.u32 [%d63], %r1;", 4, generators="i32")
    yield thread_case("elect", "elect.sync %r0|%p0, -1;\nselp.u32 %r1, 1, 0, %p0;\nst.global.v2.u32 [%d63], {%r0, %r1};", 8)
    yield thread_case("elect part", "mov.u32 %r0, 99;\nmov.u32 %r1, 99;\nand.b32 %r2, %r121, 31;\nsetp.lt.u32 %p1, %r2, 7;\n@%p1 bra JOIN;\nelect.sync %r0|%p0, 0xFFFFFF80;\nselp.u32 %r1, 1, 0, %p0;\nJOIN:\nst.global.v2.u32 [%d63], {%r0, %r1};", 8)


def barriers():
    for prefix in ("bar", "bar.cta", "barrier", "barrier.cta"):
        aligned = ".aligned" if prefix.startswith("barrier") else ""
        yield thread_case(f"{prefix}.red.popc", f"ld.global.u32 %r0, [%d62];\nsetp.lt.s32 %p0, %r0, 0;\n{prefix}.red.popc{aligned}.u32 %r1, 0, %p0;\nst.global.u32 [%d63], %r1;", 4)
        for op in ("and", "or"):
            yield thread_case(f"{prefix}.red.{op}", f"ld.global.u32 %r0, [%d62];\nsetp.lt.s32 %p0, %r0, 0;\n{prefix}.red.{op}{aligned}.pred %p1, 1, !%p0;\n{prefix}.red.{op}{aligned}.pred %p2, 2, 128, %p0;\nselp.u32 %r1, 1, 0, %p1;\nselp.u32 %r2, 1, 0, %p2;\nst.global.v2.u32 [%d63], {{%r1, %r2}};", 8)
        body = (f"mov.u64 %d10, buffer;\nmad.wide.u32 %d11, %r121, 4, %d10;\nld.global.u32 %r0, [%d62];\nst.shared.u32 [%d11], %r0;\n{prefix}.sync{aligned} 3;\nxor.b32 %r1, %r121, 127;\n"
                f"mad.wide.u32 %d11, %r1, 4, %d10;\nld.shared.u32 %r2, [%d11];\nst.global.u32 [%d63], %r2;")
        yield thread_case(f"{prefix}.sync exchange", body, 4, declarations=[".shared .align 4 .b8 buffer[512];"])
    body = ("mov.u64 %d10, buffer;\nmad.wide.u32 %d11, %r121, 4, %d10;\nld.global.u32 %r0, [%d62];\nsetp.ge.u32 %p0, %r121, 64;\n@%p0 bra CONSUME;\nst.shared.u32 [%d11], %r0;\nbar.arrive 5, 128;\nmov.u32 %r2, %r0;\nbra JOIN;\n"
            "CONSUME:\nbar.sync 5, 128;\nld.shared.u32 %r2, [%d11+-256];\nJOIN:\nst.global.u32 [%d63], %r2;")
    yield thread_case("bar.arrive", body, 4, declarations=[".shared .align 4 .b8 buffer[512];"], about="producers arrive, consumers wait")
    body = ("mov.u64 %d10, buffer;\nmad.wide.u32 %d11, %r121, 4, %d10;\nld.global.u32 %r0, [%d62];\nst.shared.u32 [%d11], %r0;\nshr.u32 %r5, %r121, 6;\nadd.u32 %r5, %r5, 1;\nbar.sync %r5, 64;\n"
            "xor.b32 %r1, %r121, 63;\nmad.wide.u32 %d11, %r1, 4, %d10;\nld.shared.u32 %r2, [%d11];\nst.global.u32 [%d63], %r2;")
    yield thread_case("bar.sync register id", body, 4, declarations=[".shared .align 4 .b8 buffer[512];"], about="two halves of a block use barriers of their own, named by a register")
    body = ("mov.u64 %d10, buffer;\nmad.wide.u32 %d11, %r121, 4, %d10;\nst.shared.u32 [%d11], %r121;\nand.b32 %r5, %r121, 31;\nsetp.lt.u32 %p0, %r5, 8;\n@%p0 bra LOW;\nbar.warp.sync 0xFFFFFF00;\nbra JOIN;\nLOW:\nbar.warp.sync 0xFF;\nJOIN:\nbar.warp.sync -1;\n"
            "xor.b32 %r1, %r121, 31;\nmad.wide.u32 %d11, %r1, 4, %d10;\nld.shared.u32 %r2, [%d11];\nst.global.u32 [%d63], %r2;")
    yield thread_case("bar.warp.sync", body, 4, declarations=[".shared .align 4 .b8 buffer[512];"])
    body = "setp.ge.u32 %p0, %r121, 96;\n@%p0 exit;\nbar.sync 0;\nst.global.u32 [%d63], %r121;"
    yield thread_case("bar.sync after exit", body, 4, about="exited warps count as arrived", fill=17)
    for fence in ("membar.cta", "membar.gl", "membar.sys", "fence.sc.cta", "fence.sc.gpu", "fence.sc.sys", "fence.acq_rel.cta", "fence.acq_rel.gpu", "fence.acq_rel.sys", "fence.acq_rel.cluster",
                  "fence.acquire.gpu", "fence.release.sys", "fence.proxy.alias", "fence.proxy.async"):
        yield thread_case(fence, f"ld.global.u32 %r0, [%d62];\nst.global.u32 [%d63], %r0;\n{fence};\nld.global.u32 %r1, [%d63];\nst.global.u32 [%d63+4], %r1;", 8)


def registers():
    for name in ("tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x", "ctaid.y", "ctaid.z", "nctaid.x", "nctaid.y", "nctaid.z", "laneid", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "warpid", "dynamic_smem_size"):
        # the flat thread number of a 3-dimensional launch: 2x3x2 blocks of 8x4x2 threads
        body = ("mov.u32 %r0, %tid.y;\nmov.u32 %r1, %tid.z;\nmad.lo.u32 %r2, %r1, 4, %r0;\nmad.lo.u32 %r2, %r2, 8, %r121;\nmov.u32 %r3, %ctaid.y;\nmov.u32 %r4, %ctaid.z;\n"
                f"mad.lo.u32 %r5, %r4, 3, %r3;\nmad.lo.u32 %r5, %r5, 2, %r122;\nmad.lo.u32 %r2, %r5, 64, %r2;\nmad.wide.u32 %d63, %r2, 4, %d61;\nmov.u32 %r6, %{name};\nst.global.u32 [%d63], %r6;")
        case = thread_case(f"register.{name}", body, 4, threads=768, about=f"%{name} in a 3-dimensional launch")
        case.grid, case.block, case.smem, case.slots = "2x3x2", "8x4x2", 1040, 0
        if name == "warpid":
            case.compare = "skip"  # the hardware's answer varies from run to run
        yield case
    for name, kind in (("clock", "u32"), ("clock64", "u64"), ("globaltimer", "u64")):
        r = "r" if kind == "u32" else "d"
        spin = "nanosleep.u32 3000;\n" if name == "globaltimer" else ""
        yield thread_case(f"register.{name}", f"mov.{kind} %{r}0, %{name};\n{spin}ld.global.u32 %r20, [%d62];\nst.global.u32 [%d63], %r20;\nmembar.gl;\nmov.{kind} %{r}1, %{name};\nsub.{kind} %{r}2, %{r}1, %{r}0;\nsetp.ge.s{kind[1:]} %p0, %{r}2, 0;\nselp.u32 %r5, 1, 0, %p0;\nst.global.u32 [%d63], %r5;", 4, about=f"%{name} does not run backwards")
    yield thread_case("nanosleep", "nanosleep.u32 100;\nmov.u32 %r0, 50;\nnanosleep.u32 %r0;\nst.global.u32 [%d63], %r121;", 4)
    for hint in ("prefetch.global.L1 [%d62]", "prefetch.global.L2 [%d62]", "prefetch.global.L2::evict_last [%d62]", "prefetchu.L1 [%d62]", "pmevent 1", "griddepcontrol.wait", "griddepcontrol.launch_dependents"):
        yield thread_case(f"hint.{hint.split('[')[0]}", f"ld.global.u32 %r0, [%d62];\n{hint};\nst.global.u32 [%d63], %r0;", 4, threads=32)
    yield thread_case("createpolicy", "createpolicy.fractional.L2::evict_last.b64 %d0, 1.0;\nld.global.L2::cache_hint.u32 %r0, [%d62], %d0;\nst.global.L2::cache_hint.u32 [%d63], %r0, %d0;", 4)


def cases():
    for family in (shuffles, votes, barriers, registers):
        yield from family()

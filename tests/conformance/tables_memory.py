# SPDX-License-Identifier: Apache-2.0
"""Loads and stores of every width, space, order and cache hint; atomics and reductions; cp.async."""
from case import Case, elementwise, slug

N = 128
BYTES = {"u8": 1, "s8": 1, "b8": 1, "u16": 2, "s16": 2, "b16": 2}


def size(kind):
    digits = "".join(c for c in kind[1:] if c.isdigit())
    return {"f16x2": 4, "bf16x2": 4, "f16": 2, "bf16": 2}.get(kind) or int(digits) // 8


def reg(kind):
    return {1: "h", 2: "h", 4: "r", 8: "d"}[size(kind)]


def thread_case(name, body, out, slots_per_thread=1, generators="bits", about=None, threads=N, **more):
    """%d62 = this thread's input, slots_per_thread * 8 bytes; %d63 = its output, `out` bytes."""
    head = f"  mad.wide.u32 %d62, %r124, {8 * slots_per_thread}, %d60;\n  mad.wide.u32 %d63, %r124, {out}, %d61;\n"
    lines = "".join(f"  {line.strip()}\n" for line in body.strip().split("\n"))
    return Case(name=slug(name), about=about or name, body=head + lines, generators=generators, n=threads,
                slots=slots_per_thread * threads, out=out * threads, block=str(threads), **more)


def loads():
    for kind in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "b8", "b16", "b32", "b64", "f32", "f64"):
        width = 64 if size(kind) <= 4 and kind[0] in "us" else 8 * size(kind)
        target = "%d0" if width == 64 else "%r0" if width == 32 else "%h0"
        if kind == "b8":
            target, width = "%r0", 32
        yield thread_case(f"ld.global.{kind}", f"ld.global.{kind} {target}, [%d62];\nst.global.b{width} [%d63], {target};", width // 8,
                          about="a load extends to the register by its own type")
        yield thread_case(f"st.global.{kind}", f"ld.global.u64 %d0, [%d62];\ncvt.u32.u64 %r0, %d0;\ncvt.u16.u64 %h0, %d0;\n"
                          f"st.global.{kind} [%d63], %{reg(kind)}0;", 8, about="a store truncates", fill=238)
    for vec, kind in ((2, "u8"), (4, "u8"), (2, "u16"), (4, "u16"), (2, "u32"), (4, "u32"), (2, "f32"), (4, "f32"), (2, "u64"), (2, "f64"), (4, "s8"), (2, "s16")):
        names = ", ".join(f"%{reg(kind)}{i}" for i in range(vec))
        back = ", ".join(f"%{reg(kind)}{i}" for i in reversed(range(vec)))
        yield thread_case(f"ld.global.v{vec}.{kind}", f"ld.global.v{vec}.{kind} {{{names}}}, [%d62];\nst.global.v{vec}.{kind} [%d63], {{{back}}};",
                          vec * size(kind), slots_per_thread=2)
    for hint in ("ca", "cg", "cs", "lu", "cv", "nc", "nc.L1::no_allocate", "L1::evict_last", "L1::no_allocate", "L1::evict_first.L2::128B", "nc.L2::256B",
                 "volatile", "relaxed.cta", "relaxed.gpu", "relaxed.sys", "acquire.cta", "acquire.gpu", "acquire.sys", "relaxed.cluster", "weak", "mmio.relaxed.sys"):
        first = hint.split(".")[0] in ("volatile", "relaxed", "acquire", "weak", "mmio")
        opcode = f"ld.{hint}.global.u32" if first else f"ld.global.{hint}.u32"
        yield thread_case(opcode, f"{opcode} %r0, [%d62];\nst.global.u32 [%d63], %r0;", 4)
    for hint in ("wb", "cg", "cs", "wt", "L1::evict_last", "L1::no_allocate", "volatile", "relaxed.cta", "relaxed.gpu", "relaxed.sys", "release.cta", "release.gpu",
                 "release.sys", "weak", "mmio.relaxed.sys"):
        first = hint.split(".")[0] in ("volatile", "relaxed", "release", "weak", "mmio")
        opcode = f"st.{hint}.global.u32" if first else f"st.global.{hint}.u32"
        yield thread_case(opcode, f"ld.global.u32 %r0, [%d62];\n{opcode} [%d63], %r0;", 4)
    yield thread_case("ld.b128", ".reg .b128 %q<2>;\nld.relaxed.sys.global.b128 %q0, [%d62];\nst.relaxed.sys.global.b128 [%d63], %q0;", 16, slots_per_thread=2)
    for space in ("shared", "local"):
        for kind in ("u8", "u16", "u32", "u64", "f32", "f64"):
            count = N if space == "shared" else 8
            index = "%r121" if space == "shared" else "%r5"
            body = (f"ld.global.{kind} %{reg(kind)}0, [%d62];\nand.b32 %r5, %r121, 7;\nmov.u64 %d10, buffer;\nmad.wide.u32 %d10, {index}, 8, %d10;\n"
                    f"st.{space}.{kind} [%d10], %{reg(kind)}0;\n" + ("bar.sync 0;\n" if space == "shared" else "")
                    + f"ld.{space}.{kind} %{reg(kind)}1, [%d10];\nst.global.{kind} [%d63], %{reg(kind)}1;")
            yield thread_case(f"ld.{space}.{kind}", body, size(kind), declarations=[f".{space} .align 16 .b8 buffer[{8 * count}];"])
            generic = (f"ld.global.{kind} %{reg(kind)}0, [%d62];\nand.b32 %r5, %r121, 7;\nmov.u64 %d10, buffer;\ncvta.{space}.u64 %d10, %d10;\n"
                       f"mad.wide.u32 %d10, {index}, 8, %d10;\nst.{kind} [%d10], %{reg(kind)}0;\n" + ("bar.sync 0;\n" if space == "shared" else "")
                       + f"ld.{kind} %{reg(kind)}1, [%d10];\nst.global.{kind} [%d63], %{reg(kind)}1;")
            yield thread_case(f"generic.{space}.{kind}", generic, size(kind), declarations=[f".{space} .align 16 .b8 buffer[{8 * count}];"])


INTEGER_OPS = [("add", k) for k in ("u32", "s32", "u64")] + [(o, k) for o in ("min", "max") for k in ("u32", "s32", "u64", "s64")] + \
    [("inc", "u32"), ("dec", "u32")] + [(o, k) for o in ("and", "or", "xor") for k in ("b32", "b64")] + [("exch", "b32"), ("exch", "b64")]
FLOAT_OPS = [("add", "f32"), ("add", "f64"), ("add.noftz", "f16"), ("add.noftz", "bf16"), ("add.noftz", "f16x2"), ("add.noftz", "bf16x2")]
GEN = {"f16x2": "f16x4", "bf16x2": "bf16x4"}


def own_cell(name, instruction, kind, space, has_old=True, swap=False):
    """Every thread works on a cell of its own: old value and new value are both determined."""
    s, r = size(kind), reg(kind)
    bits = f"b{8 * s}"
    cell = {"global": "mov.u64 %d10, %d63;", "shared": f"mov.u64 %d10, cells;\nmad.wide.u32 %d10, %r121, {s}, %d10;",
            "": f"cvta.global.u64 %d10, %d63;", "generic shared": f"mov.u64 %d10, cells;\ncvta.shared.u64 %d10, %d10;\nmad.wide.u32 %d10, %r121, {s}, %d10;"}[space]
    memory = {"global": ".global", "shared": ".shared", "": "", "generic shared": ""}[space]
    choose = f"ld.global.u32 %r9, [%d62+24];\nsetp.ne.u32 %p0, %r9, 0;\n@%p0 mov.b{8*s} %{r}2, %{r}0;\n" if swap else ""
    body = (f"ld.global.{bits} %{r}0, [%d62];\nld.global.{bits} %{r}1, [%d62+8];\nld.global.{bits} %{r}2, [%d62+16];\n{choose}{cell}\n"
            f"st{memory}.{bits} [%d10], %{r}0;\n{instruction}\nld{memory}.{bits} %{r}4, [%d10];\nst.global.{bits} [%d63], %{r}4;\n"
            + (f"st.global.{bits} [%d63+{s}], %{r}3;" if has_old else ""))
    g = GEN.get(kind, kind if kind[0] in "f" or kind == "bf16" else f"i{8 * s}")
    declarations = [f".shared .align 16 .b8 cells[{s * N}];"] if "shared" in space else []
    return thread_case(name, body, 2 * s, 4, generators=f"{g},{g},{g},bool", declarations=declarations)


def atomics():
    for space in ("global", "shared", "", "generic shared"):
        word = "." + space if space in ("global", "shared") else ""
        mark = {"": "generic", "generic shared": "generic_shared"}.get(space, space)
        for op, kind in INTEGER_OPS + FLOAT_OPS:
            yield own_cell(f"atom.{mark}.{op}.{kind}", f"atom{word}.{op}.{kind} %{reg(kind)}3, [%d10], %{reg(kind)}1;", kind, space)
            if op != "exch":
                yield own_cell(f"red.{mark}.{op}.{kind}", f"red{word}.{op}.{kind} [%d10], %{reg(kind)}1;", kind, space, has_old=False)
        for kind in ("b16", "b32", "b64"):
            yield own_cell(f"atom.{mark}.cas.{kind}", f"atom{word}.cas.{kind} %{reg(kind)}3, [%d10], %{reg(kind)}2, %{reg(kind)}1;", kind, space, swap=True)
    for order in ("relaxed", "acquire", "release", "acq_rel"):
        for scope in ("cta", "cluster", "gpu", "sys"):
            yield own_cell(f"atom.{order}.{scope}.global.add.u32", f"atom.{order}.{scope}.global.add.u32 %r3, [%d10], %r1;", "u32", "global")
    for scope in ("cta", "gpu", "sys"):
        yield own_cell(f"red.relaxed.{scope}.global.add.u64", f"red.relaxed.{scope}.global.add.u64 [%d10], %d1;", "u64", "global", has_old=False)
        yield own_cell(f"red.release.{scope}.global.or.b32", f"red.release.{scope}.global.or.b32 [%d10], %r1;", "b32", "global", has_old=False)
        yield own_cell(f"atom.{scope}.cas.b64", f"atom.acq_rel.{scope}.global.cas.b64 %d3, [%d10], %d2, %d1;", "b64", "global", swap=True)
    # 16-byte exchange and compare-and-swap; vectors of floats
    wide = "ld.global.v2.u64 {%d0, %d1}, [%d62];\nmov.b128 %q0, {%d0, %d1};\nst.global.v2.u64 [%d63], {%d1, %d0};\n"
    for space in ("global",):
        yield thread_case("atom.exch.b128", ".reg .b128 %q<4>;\n" + wide + "atom.global.exch.b128 %q1, [%d63], %q0;\nmov.b128 {%d2, %d3}, %q1;\nst.global.v2.u64 [%d63+16], {%d2, %d3};", 32, 2)
        yield thread_case("atom.cas.b128", ".reg .b128 %q<4>;\n" + wide + "and.b32 %r0, %r121, 1;\nsetp.eq.u32 %p0, %r0, 0;\nmov.b128 %q2, {%d1, %d0};\nmov.b128 %q3, {%d0, %d0};\n"
                          "@%p0 atom.global.cas.b128 %q1, [%d63], %q2, %q0;\n@!%p0 atom.global.cas.b128 %q1, [%d63], %q3, %q0;\nmov.b128 {%d2, %d3}, %q1;\nst.global.v2.u64 [%d63+16], {%d2, %d3};", 32, 2)
    for vec, kind, g in ((2, "f32", "f32x2"), (4, "f32", "f32x2"), (2, "f16x2", "f16x4"), (4, "bf16x2", "bf16x4"), (2, "f16x2", "f16x4")):
        ab = [", ".join(f"%r{8 * j + i}" for i in range(vec)) for j in range(3)]
        noftz = "" if kind == "f32" else ".noftz"
        for what in ("atom", "red"):
            old = f"{{{ab[2]}}}, " if what == "atom" else ""
            body = (f"ld.global.v{vec}.u32 {{{ab[0]}}}, [%d62];\nld.global.v{vec}.u32 {{{ab[1]}}}, [%d62+16];\nst.global.v{vec}.u32 [%d63], {{{ab[0]}}};\n"
                    f"{what}.global.add{noftz}.v{vec}.{kind} {old}[%d63], {{{ab[1]}}};\n" + (f"st.global.v{vec}.u32 [%d63+16], {{{ab[2]}}};" if what == "atom" else ""))
            yield thread_case(f"{what}.v{vec}.{kind}", body, 32, 4, generators=g)


def contended():
    """All threads of several blocks on few cells; only what does not depend on the order is kept."""
    for op, kind in [c for c in INTEGER_OPS if c[0] != "exch"] + [("add", "f32"), ("add", "f64")]:
        s, r = size(kind), reg(kind)
        g = "small" if op in ("inc", "dec") else "intf32" if kind == "f32" else "bits" if kind != "f64" else "small"
        convert = "cvt.rn.f64.u64 %d1, %d1;\n" if kind == "f64" else "mov.u32 %r1, 5000;\n" if op in ("inc", "dec") else ""
        for what in ("atom", "red"):
            old = f"%{r}3, " if what == "atom" else ""
            body = (f"ld.global.b{8 * s} %{r}1, [%d62];\n{convert}and.b32 %r20, %r121, 3;\nmad.wide.u32 %d10, %r20, {s}, %d61;\n{what}.global.{op}.{kind} {old}[%d10], %{r}1;")
            case = thread_case(f"contended.{what}.{op}.{kind}", body, 1, 1, generators=g, threads=128)
            case.grid, case.slots, case.n, case.out = "4", 512, 512, 4 * s
            case.block = "128"
            yield case


def asynchronous():
    for cache, count in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        kind = {4: "u32", 8: "u64", 16: "v2.u64"}[count]
        regs = {4: "%r0", 8: "%d0", 16: "{%d0, %d1}"}[count]
        for hint in ("", ".L2::64B", ".L2::128B", ".L2::256B"):
            body = (f"mov.u64 %d10, buffer;\nmad.wide.u32 %d10, %r121, 16, %d10;\ncp.async.{cache}.shared.global{hint} [%d10], [%d62], {count};\ncp.async.commit_group;\n"
                    f"cp.async.wait_group 0;\nbar.sync 0;\nld.shared.{kind} {regs}, [%d10];\nst.global.{kind} [%d63], {regs};")
            yield thread_case(f"cp.async.{cache}{hint}.{count}", body, count, 2, declarations=[f".shared .align 16 .b8 buffer[{16 * N}];"])
        body = (f"mov.u64 %d10, buffer;\nmad.wide.u32 %d10, %r121, 16, %d10;\nst.shared.v2.u64 [%d10], {{-1, -1}};\nand.b32 %r5, %r121, 15;\nmin.u32 %r5, %r5, {count};\n"
                f"cp.async.{cache}.shared.global [%d10], [%d62], {count}, %r5;\ncp.async.wait_all;\nbar.sync 0;\nld.shared.v2.u64 {{%d0, %d1}}, [%d10];\nst.global.v2.u64 [%d63], {{%d0, %d1}};")
        yield thread_case(f"cp.async.{cache}.{count} zfill", body, 16, 2, declarations=[f".shared .align 16 .b8 buffer[{16 * N}];"], about="bytes past src-size become zero")
        body = (f"mov.u64 %d10, buffer;\nmad.wide.u32 %d10, %r121, 16, %d10;\nst.shared.v2.u64 [%d10], {{-1, -1}};\nand.b32 %r5, %r121, 1;\nsetp.eq.u32 %p0, %r5, 1;\n"
                f"cp.async.{cache}.shared.global [%d10], [%d62], {count}, %p0;\ncp.async.wait_all;\nbar.sync 0;\nld.shared.v2.u64 {{%d0, %d1}}, [%d10];\nst.global.v2.u64 [%d63], {{%d0, %d1}};")
        yield thread_case(f"cp.async.{cache}.{count} ignore", body, 16, 2, declarations=[f".shared .align 16 .b8 buffer[{16 * N}];"], about="ignore-src writes zeros")


def cases():
    seen = set()
    for family in (loads, atomics, contended, asynchronous):
        for case in family():
            if case.name not in seen:
                seen.add(case.name)
                yield case

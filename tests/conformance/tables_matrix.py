# SPDX-License-Identifier: Apache-2.0
"""mma.sync, wmma, ldmatrix, stmatrix and movmatrix."""
from case import Case, slug

# shape: 32-bit (f64: 64-bit) registers of A, B and C for each kind of operands
SHAPES = {
    ("f16", "f16"): {"m16n8k8": (2, 1, 2), "m16n8k16": (4, 2, 2)},
    ("f16", "f32"): {"m16n8k8": (2, 1, 4), "m16n8k16": (4, 2, 4)},
    ("bf16", "f32"): {"m16n8k8": (2, 1, 4), "m16n8k16": (4, 2, 4)},
    ("tf32", "f32"): {"m16n8k4": (2, 1, 4), "m16n8k8": (4, 2, 4)},
    ("e4m3", "f32"): {"m16n8k32": (4, 2, 4)},
    ("e5m2", "f32"): {"m16n8k32": (4, 2, 4)},
}
GEN = {"f16": "16x4", "bf16": "bf16x4", "tf32": "32x2", "f64": "64", "f32": "32x2"}
PLAIN = {"f16": "f16x4", "bf16": "bf16x4", "tf32": "f32x2", "f64": "f64", "f32": "f32x2"}
WARPS = 4
# Cases feed raw random bits (every exponent, infinities and NaNs), the _shaped ones numbers near 1 or
# of many magnitudes.
RAW = True


def mma_case(name, opcode, counts, generators, wide=False, compare="bits"):
    """Every lane brings its registers as they are; the layout is the instruction's own business."""
    na, nb, nc = counts
    prefix, kind, size = ("%d", "u64", 8) if wide else ("%r", "u32", 4)
    pairs = lambda count: count if wide else (count + 1) // 2
    slots = pairs(na) + pairs(nb) + pairs(nc)
    body, register, offset, lists = f"  mad.wide.u32 %d62, %r124, {8 * slots}, %d60;\n", 0, 0, []
    for count in (na, nb, nc):
        names = [f"{prefix}{register + i}" for i in range(count)]
        for i, register_name in enumerate(names):
            body += f"  ld.global.{kind} {register_name}, [%d62+{offset + size * i}];\n"
        register += count
        offset += 8 * pairs(count)
        lists.append("{" + ", ".join(names) + "}")
    outs = [f"{prefix}{register + i}" for i in range(nc)]
    body += f"  {opcode} {{{', '.join(outs)}}}, {lists[0]}, {lists[1]}, {lists[2]};\n"
    body += f"  mad.wide.u32 %d63, %r124, {nc * size}, %d61;\n"
    for i, out in enumerate(outs):
        body += f"  st.global.{kind} [%d63+{size * i}], {out};\n"
    ga, gc = generators
    return Case(name=slug(name), about=opcode, body=body, generators="bits" if RAW else f"{ga}*{pairs(na) + pairs(nb)},{gc}*{pairs(nc)}", n=32 * WARPS,
                slots=slots * 32 * WARPS, out=nc * size * 32 * WARPS, block="32", grid=str(WARPS), compare=compare)


def mma():
    for (kind, acc), shapes in SHAPES.items():
        for shape, counts in shapes.items():
            opcode = f"mma.sync.aligned.{shape}.row.col.{acc}.{kind}.{kind}.{acc};".rstrip(";")
            for flavour in ("unit", "wide", "any"):
                if kind[0] == "e":
                    ga, gc = (f"{kind}x8", "unit32x2") if flavour == "unit" else (f"{kind}x8", "wide32x2") if flavour == "wide" else ("bits", "f32x2")
                else:
                    ga = PLAIN[kind] if flavour == "any" else flavour + GEN[kind]
                    gc = PLAIN[acc] if flavour == "any" else flavour + GEN[acc]
                yield mma_case(f"mma.{shape}.{acc}.{kind} {flavour}", opcode, counts, (ga, gc), compare=f"{acc} ulp 0")
    yield mma_case("mma.m16n8k32.f32.e4m3.e5m2", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", (4, 2, 4), ("e4m3x8", "unit32x2"), compare="f32 ulp 0")
    for shape, counts in {"m8n8k4": (1, 1, 2), "m16n8k4": (2, 1, 4), "m16n8k8": (4, 2, 4), "m16n8k16": (8, 4, 4)}.items():
        for flavour in ("unit64", "wide64", "f64"):
            yield mma_case(f"mma.{shape}.f64 {flavour}", f"mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64", counts, (flavour, flavour), wide=True, compare="f64 ulp 0")
    for a in ("s8", "u8"):
        for b in ("s8", "u8"):
            for shape, counts in {"m8n8k16": (1, 1, 2), "m16n8k16": (2, 1, 4), "m16n8k32": (4, 2, 4)}.items():
                for sat in ("", ".satfinite"):
                    yield mma_case(f"mma.{shape}.{a}.{b}{sat}", f"mma.sync.aligned.{shape}.row.col{sat}.s32.{a}.{b}.s32", counts, ("bits", "i32"))
    for a, b in (("s4", "s4"), ("u4", "s4"), ("u4", "u4")):
        for shape, counts in {"m8n8k32": (1, 1, 2), "m16n8k32": (2, 1, 4), "m16n8k64": (4, 2, 4)}.items():
            yield mma_case(f"mma.{shape}.{a}.{b}", f"mma.sync.aligned.{shape}.row.col.s32.{a}.{b}.s32", counts, ("bits", "i32"))
    for op in ("xor", "and"):
        for shape, counts in {"m8n8k128": (1, 1, 2), "m16n8k128": (2, 1, 4), "m16n8k256": (4, 2, 4)}.items():
            yield mma_case(f"mma.{shape}.b1.{op}", f"mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{op}.popc", counts, ("bits", "i32"))


# kind, accumulator, shape -> registers of A, B, C
WMMA = [("f16", "f32", s, (8, 8, 8)) for s in ("m16n16k16", "m32n8k16", "m8n32k16")] + \
       [("f16", "f16", s, (8, 8, 4)) for s in ("m16n16k16", "m32n8k16", "m8n32k16")] + \
       [("bf16", "f32", "m16n16k16", (4, 4, 8)), ("bf16", "f32", "m32n8k16", (8, 2, 8)), ("bf16", "f32", "m8n32k16", (2, 8, 8))] + \
       [(k, "s32", s, c) for k in ("s8", "u8") for s, c in (("m16n16k16", (2, 2, 8)), ("m32n8k16", (4, 1, 8)), ("m8n32k16", (1, 4, 8)))] + \
       [("tf32", "f32", "m16n16k8", (4, 4, 8)), ("f64", "f64", "m8n8k4", (1, 1, 2))]
BYTES = {"f16": 2, "bf16": 2, "s8": 1, "u8": 1, "tf32": 4, "f32": 4, "s32": 4, "f64": 8}


def wmma_case(kind, acc, shape, counts, layouts, space, flavour, satfinite=""):
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    m, n, k = int(m), int(n), int(k)
    la, lb, lc = layouts
    size, csize = BYTES[kind], BYTES[acc]
    bytes_a, bytes_b, bytes_c = m * k * size, k * n * size, m * n * csize
    regs = "%d" if kind == "f64" else "%r"
    lists, first = [], 0
    for count in counts + (counts[2],):
        lists.append("{" + ", ".join(f"{regs}{first + i}" for i in range(count)) + "}")
        first += count
    strides = (k if la == "row" else m, n if lb == "row" else k, n if lc == "row" else m)
    ga = {"f16": "16x4", "bf16": "bf16x4", "tf32": "32x2", "f64": "64"}.get(kind)
    gc = {"f16": "16x4", "f32": "32x2", "f64": "64"}.get(acc)
    ga, gc = (flavour + ga, flavour + gc) if ga else ("bits", "i32")
    base, word, body, declarations = "%d60", ".global", "", []
    if space == "shared":
        total = bytes_a + bytes_b + bytes_c
        declarations = [f".shared .align 32 .b8 buffer[{total}];"]
        body += "  mov.u64 %d40, buffer;\n  mov.u32 %r100, %r121;\nCOPY:\n  mad.wide.u32 %d41, %r100, 8, %d60;\n  mad.wide.u32 %d42, %r100, 8, %d40;\n  ld.global.u64 %d43, [%d41];\n"
        body += f"  st.shared.u64 [%d42], %d43;\n  add.u32 %r100, %r100, 32;\n  setp.lt.u32 %p0, %r100, {total // 8};\n  @%p0 bra COPY;\n  bar.sync 0;\n"
        base, word = "%d40", ".shared"
    elif space == "generic":
        body += "  cvta.global.u64 %d40, %d60;\n"
        base, word = "%d40", ""
    for letter, layout, pointer, count, stride in (("a", la, f"{base}", kind, strides[0]), ("b", lb, f"{base}+{bytes_a}", kind, strides[1]), ("c", lc, f"{base}+{bytes_a + bytes_b}", acc, strides[2])):
        body += f"  wmma.load.{letter}.sync.aligned.{layout}.{shape}{word}.{count} {lists['abc'.index(letter)]}, [{pointer}], {stride};\n"
    types = {"f16": f"{acc}.{acc}", "f64": "f64.f64.f64.f64"}.get(kind, f"{acc}.{kind}.{kind}.{acc}")
    rounding = ""
    body += f"  wmma.mma.sync.aligned.{la}.{lb}.{shape}{rounding}.{types}{satfinite} {lists[3]}, {lists[0]}, {lists[1]}, {lists[2]};\n"
    body += f"  wmma.store.d.sync.aligned.{lc}.{shape}.global.{acc} [%d61], {lists[3]}, {strides[2]};\n"
    compare = "bits" if acc == "s32" else f"{acc} ulp 0"
    return Case(name=slug(f"wmma.{shape}.{acc}.{kind}.{la}.{lb}.{lc} {space} {flavour}{satfinite}"), about=f"wmma {shape} {kind} {la} {lb} {lc} {space}", body=body, declarations=declarations,
                generators="bits" if RAW else f"{ga}*{(bytes_a + bytes_b) // 8},{gc}*{bytes_c // (4 if gc == 'i32' else 8)}", slots=(bytes_a + bytes_b) // 8 + bytes_c // (4 if gc == 'i32' else 8),
                out=bytes_c, n=32, compare=compare)


def wmma():
    for kind, acc, shape, counts in WMMA:
        for la in ("row", "col"):
            for lb in ("row", "col"):
                yield wmma_case(kind, acc, shape, counts, (la, lb, "row"), "global", "unit")
        yield wmma_case(kind, acc, shape, counts, ("row", "col", "col"), "shared", "unit")
        yield wmma_case(kind, acc, shape, counts, ("row", "col", "row"), "generic", "wide")


def matrices():
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            regs = ", ".join(f"%r{i}" for i in range(count))
            # the rows of each 8x8 matrix lie in an order of their own
            body = ("  mov.u64 %d10, buffer;\n  mov.u32 %r100, %r121;\n  mad.wide.u32 %d11, %r100, 16, %d60;\n  mad.wide.u32 %d12, %r100, 16, %d10;\n  ld.global.v2.u64 {%d0, %d1}, [%d11];\n"
                    "  st.shared.v2.u64 [%d12], {%d0, %d1};\n  bar.sync 0;\n  xor.b32 %r101, %r121, 5;\n  mad.wide.u32 %d12, %r101, 16, %d10;\n")
            load = body + f"  ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{regs}}}, [%d12];\n  mad.wide.u32 %d63, %r121, {4 * count}, %d61;\n"
            load += "".join(f"  st.global.u32 [%d63+{4 * i}], %r{i};\n" for i in range(count))
            yield Case(name=slug(f"ldmatrix.x{count}{trans}"), about=f"ldmatrix x{count}{trans}", body=load, slots=64, out=128 * count, declarations=[".shared .align 16 .b8 buffer[512];"])
            store = body + "  bar.sync 0;\n  mad.wide.u32 %d11, %r121, 16, %d60;\n" + "".join(f"  ld.global.u32 %r{i}, [%d11+{4 * i}];\n" for i in range(count))
            store += f"  stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%d12], {{{regs}}};\n  bar.sync 0;\n  mad.wide.u32 %d12, %r121, 16, %d10;\n  ld.shared.v2.u64 {{%d0, %d1}}, [%d12];\n"
            store += "  mad.wide.u32 %d63, %r121, 16, %d61;\n  st.global.v2.u64 [%d63], {%d0, %d1};\n"
            yield Case(name=slug(f"stmatrix.x{count}{trans}"), about=f"stmatrix x{count}{trans}", body=store, slots=64, out=512, declarations=[".shared .align 16 .b8 buffer[512];"])
    body = "  mad.wide.u32 %d11, %r121, 4, %d60;\n  ld.global.u32 %r0, [%d11];\n  movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\n  mad.wide.u32 %d63, %r121, 4, %d61;\n  st.global.u32 [%d63], %r1;\n"
    yield Case(name="movmatrix", about="movmatrix transposes", body=body, slots=16, out=128)


def cases():
    global RAW
    yield from mma()
    yield from wmma()
    yield from matrices()
    RAW = False
    for family in (mma, wmma):
        for case in family():
            case.name += "_shaped"
            yield case
    RAW = True

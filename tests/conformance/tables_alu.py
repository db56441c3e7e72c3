# SPDX-License-Identifier: Apache-2.0
"""Integer, logic, shift, comparison, selection, carry and video instructions."""
from case import elementwise

INTEGERS = ["s16", "u16", "s32", "u32", "s64", "u64"]


def bits(kind):
    return int(kind[1:])


def gen(kind):
    return (f"i{bits(kind)}", bits(kind))


def simple(op, kinds, arity, out=None):
    for kind in kinds:
        operands = ", ".join(f"{{a{i}}}" for i in range(arity))
        yield elementwise(f"{op}.{kind}", f"{op}.{kind} {{d0}}, {operands};", [gen(kind)] * arity,
                          [out or bits(kind)])


def arithmetic():
    for op in ("add", "sub"):
        yield from simple(op, INTEGERS, 2)
        yield elementwise(f"{op}.sat.s32", f"{op}.sat.s32 {{d0}}, {{a0}}, {{a1}};", [("i32", 32)] * 2, [32])
    for kind in ("u16x2", "s16x2"):
        yield elementwise(f"add.{kind}", f"add.{kind} {{d0}}, {{a0}}, {{a1}};", [("i16x2", 32)] * 2, [32])
        for op in ("min", "max"):
            for relu in ("", ".relu") if kind[0] == "s" else ("",):
                yield elementwise(f"{op}{relu}.{kind}", f"{op}{relu}.{kind} {{d0}}, {{a0}}, {{a1}};",
                                  [("i16x2", 32)] * 2, [32])
    for part in ("lo", "hi"):
        yield from simple(f"mul.{part}", INTEGERS, 2)
        yield from simple(f"mad.{part}", INTEGERS, 3)
        for kind in ("s32", "u32"):
            yield from simple(f"mul24.{part}", [kind], 2)
            yield from simple(f"mad24.{part}", [kind], 3)
    for op in ("mad.hi.sat", "mad24.hi.sat"):
        yield from simple(op, ["s32"], 3)
    for kind in ("s16", "u16", "s32", "u32"):
        yield from simple("mul.wide", [kind], 2, out=2 * bits(kind))
        wide = 2 * bits(kind)
        yield elementwise(f"mad.wide.{kind}", f"mad.wide.{kind} {{d0}}, {{a0}}, {{a1}}, {{a2}};",
                          [gen(kind), gen(kind), (f"i{wide}", wide)], [wide])
    for op in ("div", "rem"):
        for kind in INTEGERS:
            yield elementwise(f"{op}.{kind}", f"{op}.{kind} {{d0}}, {{a0}}, {{a1}};",
                              [gen(kind), (f"nz{bits(kind)}", bits(kind))], [bits(kind)])
    yield from simple("sad", INTEGERS, 3)
    for op in ("abs", "neg"):
        yield from simple(op, ["s16", "s32", "s64"], 1)
    for op in ("min", "max"):
        yield from simple(op, INTEGERS, 2)
        yield from simple(f"{op}.relu", ["s32"], 2)


def bit_work():
    for op in ("popc", "clz", "brev"):
        for width in (32, 64):
            yield elementwise(f"{op}.b{width}", f"{op}.b{width} {{d0}}, {{a0}};", [(f"i{width}", width)],
                              [width if op == "brev" else 32])
    for kind in ("u32", "s32", "u64", "s64"):
        for amount in ("", ".shiftamt"):
            yield elementwise(f"bfind{amount}.{kind}", f"bfind{amount}.{kind} {{d0}}, {{a0}};", [gen(kind)], [32])
        yield elementwise(f"bfe.{kind}", f"bfe.{kind} {{d0}}, {{a0}}, {{a1}}, {{a2}};",
                          [gen(kind), ("shift", 32), ("shift", 32)], [bits(kind)], n=512)
        yield elementwise(f"bfe.{kind} wild", f"bfe.{kind} {{d0}}, {{a0}}, {{a1}}, {{a2}};",
                          [gen(kind), ("i32", 32), ("i32", 32)], [bits(kind)])
    for width in (32, 64):
        yield elementwise(f"bfi.b{width}", f"bfi.b{width} {{d0}}, {{a0}}, {{a1}}, {{a2}}, {{a3}};",
                          [(f"i{width}", width)] * 2 + [("shift", 32)] * 2, [width], n=512)
        yield elementwise(f"bfi.b{width} wild", f"bfi.b{width} {{d0}}, {{a0}}, {{a1}}, {{a2}}, {{a3}};",
                          [(f"i{width}", width)] * 2 + [("i32", 32)] * 2, [width])
    yield elementwise("fns.b32", "fns.b32 {d0}, {a0}, {a1}, {a2};", [("bits", 32), ("shift", 32), ("small", 32)], [32])
    yield elementwise("fns.b32 backward", "and.b32 {a1}, {a1}, 31;\nsub.s32 {a2}, 0, {a2};\nfns.b32 {d0}, {a0}, {a1}, {a2};",
                      [("bits", 32), ("shift", 32), ("small", 32)], [32], about="fns with a negative offset")
    for mode in ("clamp", "wrap"):
        for kind in ("s32", "u32"):
            yield elementwise(f"szext.{mode}.{kind}", f"szext.{mode}.{kind} {{d0}}, {{a0}}, {{a1}};",
                              [("i32", 32), ("shift", 32)], [32])
        yield elementwise(f"bmsk.{mode}.b32", f"bmsk.{mode}.b32 {{d0}}, {{a0}}, {{a1}};",
                          [("shift", 32), ("shift", 32)], [32])
        for side in ("l", "r"):
            yield elementwise(f"shf.{side}.{mode}.b32", f"shf.{side}.{mode}.b32 {{d0}}, {{a0}}, {{a1}}, {{a2}};",
                              [("bits", 32), ("bits", 32), ("shift", 32)], [32])
    for width in (16, 32, 64):
        value = (f"i{width}", width)
        for op in (f"shl.b{width}", f"shr.b{width}", f"shr.u{width}", f"shr.s{width}"):
            yield elementwise(op, f"{op} {{d0}}, {{a0}}, {{a1}};", [value, ("shift", 32)], [width])
        yield elementwise(f"shl.b{width} wild", f"shl.b{width} {{d0}}, {{a0}}, {{a1}};", [value, ("i32", 32)], [width])
        yield elementwise(f"shr.s{width} wild", f"shr.s{width} {{d0}}, {{a0}}, {{a1}};", [value, ("i32", 32)], [width])
        for op in ("and", "or", "xor"):
            yield elementwise(f"{op}.b{width}", f"{op}.b{width} {{d0}}, {{a0}}, {{a1}};", [value] * 2, [width])
        for op in ("not", "cnot"):
            yield elementwise(f"{op}.b{width}", f"{op}.b{width} {{d0}}, {{a0}};", [value], [width])
    for op in ("and", "or", "xor"):
        yield elementwise(f"{op}.pred", f"{op}.pred {{d0}}, {{a0}}, {{a1}};", [("bool", 1)] * 2, [1], n=128)
    yield elementwise("not.pred", "not.pred {d0}, {a0};", [("bool", 1)], [1], n=128)
    for lut in (0x00, 0x01, 0x1E, 0x80, 0x96, 0xCA, 0xE8, 0xF8, 0xFE, 0x3C):
        yield elementwise(f"lop3.b32 {lut:02x}", f"lop3.b32 {{d0}}, {{a0}}, {{a1}}, {{a2}}, {lut};", [("bits", 32)] * 3,
                          [32], n=128)
    for op in ("or", "and"):
        yield elementwise(f"lop3.{op}.b32", f"lop3.{op}.b32 {{d0}}|{{d1}}, {{a0}}, {{a1}}, {{a2}}, 128, {{a3}};",
                          [("i32", 32)] * 3 + [("bool", 1)], [32, 1])
    yield elementwise("prmt.b32", "prmt.b32 {d0}, {a0}, {a1}, {a2};", [("bits", 32)] * 3, [32])
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        yield elementwise(f"prmt.b32.{mode}", f"prmt.b32.{mode} {{d0}}, {{a0}}, {{a1}}, {{a2}};",
                          [("bits", 32), ("bits", 32), ("small", 32)], [32], n=128)
    for a in ("s32", "u32"):
        for b in ("s32", "u32"):
            yield elementwise(f"dp4a.{a}.{b}", f"dp4a.{a}.{b} {{d0}}, {{a0}}, {{a1}}, {{a2}};",
                              [("bits", 32), ("bits", 32), ("i32", 32)], [32], n=128)
            for half in ("lo", "hi"):
                yield elementwise(f"dp2a.{half}.{a}.{b}", f"dp2a.{half}.{a}.{b} {{d0}}, {{a0}}, {{a1}}, {{a2}};",
                                  [("bits", 32), ("bits", 32), ("i32", 32)], [32], n=128)


def comparison():
    for kind in INTEGERS:
        unsigned = kind[0] == "u"
        for cmp in ("eq", "ne", "lt", "le", "gt", "ge") + (("lo", "ls", "hi", "hs") if unsigned and kind != "u16" else ()):
            yield elementwise(f"setp.{cmp}.{kind}", f"setp.{cmp}.{kind} {{d0}}, {{a0}}, {{a1}};", [gen(kind)] * 2, [1], n=128)
    for width in (16, 32, 64):
        for cmp in ("eq", "ne"):
            yield elementwise(f"setp.{cmp}.b{width}", f"setp.{cmp}.b{width} {{d0}}, {{a0}}, {{a1}};",
                              [("small", width)] * 2, [1], n=128)
    for op in ("and", "or", "xor"):
        yield elementwise(f"setp.lt.{op}.s32 both", f"setp.lt.{op}.s32 {{d0}}|{{d1}}, {{a0}}, {{a1}}, {{a2}};",
                          [("i32", 32)] * 2 + [("bool", 1)], [1, 1], n=128)
        yield elementwise(f"setp.ge.{op}.u64 not", f"setp.ge.{op}.u64 {{d0}}, {{a0}}, {{a1}}, !{{a2}};",
                          [("i64", 64)] * 2 + [("bool", 1)], [1], n=128)
    for out, width in (("u32", 32), ("s32", 32), ("f32", 32)):
        for kind in ("s32", "u32", "s64", "u16", "f32", "f64"):
            source = (kind if kind[0] == "f" else f"i{bits(kind)}", bits(kind))
            yield elementwise(f"set.gt.{out}.{kind}", f"set.gt.{out}.{kind} {{d0}}, {{a0}}, {{a1}};", [source] * 2, [width], n=128)
    yield elementwise("set.eq.and.u32.s32", "set.eq.and.u32.s32 {d0}, {a0}, {a1}, !{a2};", [("small", 32)] * 2 + [("bool", 1)], [32], n=128)
    for kind in ("b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"):
        width = bits(kind)
        yield elementwise(f"selp.{kind}", f"selp.{kind} {{d0}}, {{a0}}, {{a1}}, {{a2}};", [("bits", width)] * 2 + [("bool", 1)], [width], n=128)
        yield elementwise(f"slct.{kind}.s32", f"slct.{kind}.s32 {{d0}}, {{a0}}, {{a1}}, {{a2}};", [("bits", width)] * 2 + [("i32", 32)], [width], n=128)
        yield elementwise(f"slct.{kind}.f32", f"slct.{kind}.f32 {{d0}}, {{a0}}, {{a1}}, {{a2}};", [("bits", width)] * 2 + [("f32", 32)], [width], n=128)
    yield elementwise("slct.ftz.b32.f32", "slct.ftz.b32.f32 {d0}, {a0}, {a1}, {a2};", [("bits", 32)] * 2 + [("f32", 32)], [32], n=256)


def carry():
    for kind in ("u32", "s32", "u64", "s64"):
        width = bits(kind)
        word = (f"i{width}", width)
        for op in ("add", "sub"):
            yield elementwise(f"{op}.cc.{kind} chain", f"{op}.cc.{kind} {{d0}}, {{a0}}, {{a3}};\n"
                              f"{op}c.cc.{kind} {{d1}}, {{a1}}, {{a4}};\n{op}c.{kind} {{d2}}, {{a2}}, {{a5}};", [word] * 6, [width] * 3)
    for kind in ("u32", "s32", "u64", "s64"):
        width = bits(kind)
        word = (f"i{width}", width)
        yield elementwise(f"mad.cc.{kind} chain", f"mad.lo.cc.{kind} {{d0}}, {{a0}}, {{a1}}, {{a2}};\n"
                          f"madc.hi.cc.{kind} {{d1}}, {{a0}}, {{a1}}, {{a3}};\nmadc.lo.cc.{kind} {{d2}}, {{a2}}, {{a3}}, {{a4}};\n"
                          f"madc.hi.{kind} {{d3}}, {{a2}}, {{a3}}, {{a5}};", [word] * 6, [width] * 4)
    yield elementwise("add.cc clobber", "add.cc.u32 {d0}, {a0}, {a1};\nadd.u32 {d1}, {a1}, {a2};\naddc.u32 {d2}, {a2}, {a3};",
                      [("i32", 32)] * 4, [32] * 3, about="a plain add between add.cc and addc leaves the carry alone")
    yield elementwise("mad.hi.cc.u32", "mad.hi.cc.u32 {d0}, {a0}, {a1}, {a2};\naddc.u32 {d1}, {a3}, 0;", [("i32", 32)] * 4, [32, 32])


def moves():
    yield elementwise("mov.b64 pack", "mov.b64 {d0}, {{{a0}, {a1}}};", [("bits", 32)] * 2, [64], n=64)
    yield elementwise("mov.b64 pack4", "mov.b64 {d0}, {{{a0}, {a1}, {a2}, {a3}}};", [("bits", 16)] * 4, [64], n=64)
    yield elementwise("mov.b32 pack", "mov.b32 {d0}, {{{a0}, {a1}}};", [("bits", 16)] * 2, [32], n=64)
    yield elementwise("mov.b64 unpack", "mov.b64 {{{d0}, {d1}}}, {a0};", [("bits", 64)], [32, 32], n=64)
    yield elementwise("mov.b32 unpack", "mov.b32 {{{d0}, {d1}}}, {a0};", [("bits", 32)], [16, 16], n=64)
    yield elementwise("mov.b64 unpack sink", "mov.b64 {{_, {d0}}}, {a0};", [("bits", 64)], [32], n=64)
    yield elementwise("mov.pred", "mov.pred {d0}, {a0};", [("bool", 1)], [1], n=64)
    yield elementwise("mov.b128", ".reg .b128 %q0;\nmov.b128 %q0, {{{a0}, {a1}}};\nmov.b128 {{{d1}, {d0}}}, %q0;", [("bits", 64)] * 2, [64, 64], n=64)
    yield elementwise("guarded", "mov.u32 {d0}, 7;\n@{a1} add.s32 {d0}, {a0}, 1;\n@!{a1} sub.s32 {d0}, {a0}, 1;", [("i32", 32), ("bool", 1)], [32], about="guard predicates, plain and negated")
    yield elementwise("immediates", "add.s32 {d0}, {a0}, -5;\nadd.f32 {d1}, {a0}, 0f3F800000;\nadd.f64 {d2}, {a1}, 0dBFF8000000000000;\n"
                      "mul.lo.u32 {d3}, {a0}, 0x10001;\nand.b32 {d4}, {a0}, 0b1111;\nadd.u32 {d5}, {a0}, 017;",
                      [("unit32", 32), ("unit64", 64)], [32, 32, 64, 32, 32, 32], about="constants in every spelling")


def video():
    kinds = ["u32", "s32"]
    for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        for a in kinds:
            for b in kinds:
                yield elementwise(f"{op}.s32.{a}.{b}", f"{op}.s32.{a}.{b} {{d0}}, {{a0}}, {{a1}};", [("i32", 32)] * 2, [32], n=128)
        yield elementwise(f"{op}.u32.u32.u32.sat b1 h1", f"{op}.u32.u32.u32.sat {{d0}}, {{a0}}.b1, {{a1}}.h1;", [("i32", 32)] * 2, [32], n=128)
        yield elementwise(f"{op}.s32.s32.s32.add", f"{op}.s32.s32.s32.add {{d0}}, {{a0}}.b3, {{a1}}.b2, {{a2}};", [("i32", 32)] * 3, [32], n=128)
        yield elementwise(f"{op}.s32.s32.u32 merge", f"{op}.s32.s32.u32 {{d0}}.h1, {{a0}}.h0, {{a1}}.b0, {{a2}};", [("i32", 32)] * 3, [32], n=128)
    for op in ("vshl", "vshr"):
        for mode in ("clamp", "wrap"):
            for kind in kinds:
                yield elementwise(f"{op}.{kind}.{kind}.u32.{mode}", f"{op}.{kind}.{kind}.u32.{mode} {{d0}}, {{a0}}, {{a1}};", [("i32", 32), ("shift", 32)], [32], n=128)
    for kind in kinds:
        yield elementwise(f"vmad.{kind}.{kind}.{kind}", f"vmad.{kind}.{kind}.{kind} {{d0}}, {{a0}}.h0, {{a1}}.h1, {{a2}};", [("i32", 32)] * 3, [32], n=128)
        yield elementwise(f"vmad.{kind}.{kind}.{kind}.shr7", f"vmad.{kind}.{kind}.{kind}.shr7 {{d0}}, {{a0}}, {{a1}}, {{a2}};", [("i32", 32)] * 3, [32], n=128)
        for cmp in ("eq", "lt", "ge"):
            yield elementwise(f"vset.{kind}.{kind}.{cmp}", f"vset.{kind}.{kind}.{cmp} {{d0}}, {{a0}}.b0, {{a1}}.b1;", [("i32", 32)] * 2, [32], n=128)
    for lanes in (2, 4):
        for op in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
            for kind in kinds:
                yield elementwise(f"{op}{lanes}.{kind}", f"{op}{lanes}.{kind}.{kind}.{kind} {{d0}}, {{a0}}, {{a1}}, {{a2}};", [("bits", 32)] * 3, [32], n=128)
                if op in ("vadd", "vsub", "vabsdiff"):
                    yield elementwise(f"{op}{lanes}.{kind}.sat", f"{op}{lanes}.{kind}.{kind}.{kind}.sat {{d0}}, {{a0}}, {{a1}}, {{a2}};", [("bits", 32)] * 3, [32], n=128)
            yield elementwise(f"{op}{lanes}.u32.add", f"{op}{lanes}.u32.u32.u32.add {{d0}}, {{a0}}, {{a1}}, {{a2}};", [("bits", 32)] * 3, [32], n=128)
        for kind in kinds:
            yield elementwise(f"vset{lanes}.{kind}.lt", f"vset{lanes}.{kind}.{kind}.lt {{d0}}, {{a0}}, {{a1}}, {{a2}};", [("bits", 32)] * 3, [32], n=128)


def cases():
    for family in (arithmetic, bit_work, comparison, carry, moves, video):
        yield from family()

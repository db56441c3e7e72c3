# SPDX-License-Identifier: Apache-2.0
"""Conversions between every pair of types, with every rounding and saturation."""
from case import elementwise

INTEGERS = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
FLOATS = ["f16", "bf16", "f32", "f64"]


def width(kind):
    """Registers have 16 bits at least."""
    return {"bf16": 16, "s8": 16, "u8": 16}.get(kind) or int(kind[1:])


def gen(kind):
    return kind if kind in FLOATS else f"i{kind[1:]}"


def one(suffix, out, kind, source=None, n=256):
    return elementwise(f"cvt{suffix}.{out}.{kind} {source or ''}", f"cvt{suffix}.{out}.{kind} {{d0}}, {{a0}};",
                       [(source or gen(kind), width(kind))], [width(out)], n=n)


def contains(out, kind):
    """Whether every value of `kind` is one of `out`: .sat is refused then."""
    wider = int(out[1:]) > int(kind[1:])
    return wider and (out[0] == kind[0] or kind[0] == "u")


def integers():
    for out in INTEGERS:
        for kind in INTEGERS:
            if out != kind:
                yield one("", out, kind, n=128)
                if not contains(out, kind):
                    yield one(".sat", out, kind, n=128)


def integers_and_floats():
    for kind in FLOATS:
        whole = [i for i in INTEGERS if kind != "bf16" or i[1:] != "8"]
        for out in whole:
            for rounding in (".rni", ".rzi", ".rmi", ".rpi"):
                yield one(rounding, out, kind, n=512 if kind == "f64" else 256)
        for out in ("s32", "u8", "s64"):
            if kind == "f32":
                yield one(".rni.ftz", out, kind)
                yield one(".rzi.ftz", out, kind)
            if kind != "bf16":
                yield one(".rzi.sat", out, kind)
        for source in whole:
            for rounding in (".rn", ".rz", ".rm", ".rp"):
                yield one(rounding, kind, source, n=128)
    yield one(".rn.sat", "f32", "s32", n=128)
    yield one(".rn.sat", "f16", "s16", n=128)


def floats():
    for rounding in (".rni", ".rzi", ".rmi", ".rpi"):
        yield one(rounding, "f32", "f32")
        yield one(rounding + ".ftz", "f32", "f32")
        yield one(rounding, "f64", "f64")
        yield one(rounding, "f16", "f16")
        yield one(rounding + ".sat", "f32", "f32")
        yield one(rounding, "bf16", "bf16")
    yield one(".sat", "f32", "f32")
    yield one(".ftz.sat", "f32", "f32")
    yield one(".ftz", "f32", "f32")
    yield one(".sat", "f64", "f64")
    yield one(".sat", "f16", "f16")
    for rounding in (".rn", ".rz", ".rm", ".rp"):
        yield one(rounding, "f32", "f64", n=512)
        yield one(rounding + ".ftz", "f32", "f64")
        yield one(rounding + ".sat", "f32", "f64")
        yield one(rounding, "f16", "f32", n=512)
        yield one(rounding, "f16", "f64", n=512)
        yield one(rounding, "bf16", "f64", n=512)
        if rounding in (".rn", ".rz"):
            yield one(rounding, "bf16", "f32", n=512)
            for suffix in (".relu", ".satfinite", ".relu.satfinite"):
                yield one(rounding + suffix, "f16", "f32")
                yield one(rounding + suffix, "bf16", "f32")
        yield one(rounding, "f16", "bf16")
        yield one(rounding, "bf16", "f16")
    yield one(".rn.ftz", "f16", "f32")
    yield one(".rn.sat", "f16", "f32")
    yield one(".rn.ftz.sat", "f16", "f32")
    for kind in ("f16", "bf16"):
        yield one("", "f32", kind, n=512)
        yield one("", "f64", kind, n=512)
    yield one(".sat", "f32", "f16")
    yield one(".ftz", "f32", "f16")
    yield one("", "f64", "f32")
    yield one(".ftz", "f64", "f32")
    yield one(".sat", "f64", "f32")


def packed():
    for rounding in ("rn", "rz"):
        for out in ("f16x2", "bf16x2"):
            for suffix in ("", ".relu", ".satfinite", ".relu.satfinite"):
                yield elementwise(f"cvt.{rounding}{suffix}.{out}.f32", f"cvt.{rounding}{suffix}.{out}.f32 {{d0}}, {{a0}}, {{a1}};",
                                  [("f32", 32)] * 2, [32])
    for suffix in (".rna", ".rn", ".rz", ".rn.relu", ".rz.relu", ".rna.satfinite"):
        yield elementwise(f"cvt{suffix}.tf32.f32", f"cvt{suffix}.tf32.f32 {{d0}}, {{a0}};", [("f32", 32)], [32], n=512)
    for kind in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            for source in ("f32", "exp32"):
                yield elementwise(f"cvt.rn.satfinite{relu}.{kind}.f32 {source}", f"cvt.rn.satfinite{relu}.{kind}.f32 {{d0}}, {{a0}}, {{a1}};", [(source, 32)] * 2, [16], n=512)
            for source in ("f16x4", "unit16x4"):
                yield elementwise(f"cvt.rn.satfinite{relu}.{kind}.f16x2 {source}", f"cvt.rn.satfinite{relu}.{kind}.f16x2 {{d0}}, {{a0}};", [(source, 32)], [16], n=512)
            yield elementwise(f"cvt.rn{relu}.f16x2.{kind}", f"cvt.rn{relu}.f16x2.{kind} {{d0}}, {{a0}};", [("bits", 16)], [32], n=512)


def register_widths():
    yield elementwise("cvt.u32.u8 wide", "cvt.u32.u8 {d0}, {a0};\ncvt.s32.s8 {d1}, {a0};\ncvt.u64.u8 {d2}, {a0};\ncvt.s64.s16 {d3}, {a0};",
                      [("bits", 32)], [32, 32, 64, 64], about="sources held in a wider register are truncated first")
    yield elementwise("cvt.u8.u32 wide", "cvt.u8.u32 {d0}, {a0};\ncvt.s8.s32 {d1}, {a0};\ncvt.u16.u32 {d2}, {a0};\ncvt.s16.s32 {d3}, {a0};\ncvt.s8.s32 {d4}, {a0};",
                      [("bits", 32)], [32, 32, 32, 32, 64], about="results in a wider register are extended by the destination type")
    for kind in ("s16x2", "u16x2"):
        yield elementwise(f"cvt.pack.sat.{kind}", f"cvt.pack.sat.{kind[:3]}.s32 {{d0}}, {{a0}}, {{a1}};", [("i32", 32)] * 2, [32])
    for kind in ("s8", "u8"):
        yield elementwise(f"cvt.pack.sat.{kind}", f"cvt.pack.sat.{kind}.s32.b32 {{d0}}, {{a0}}, {{a1}}, {{a2}};", [("i32", 32)] * 2 + [("bits", 32)], [32])


def cases():
    for family in (integers, integers_and_floats, floats, packed, register_widths):
        yield from family()

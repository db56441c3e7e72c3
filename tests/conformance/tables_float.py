# SPDX-License-Identifier: Apache-2.0
"""f32, f64, f16, bf16 arithmetic, comparisons and the approximations."""
from case import elementwise

ROUNDINGS = ["rn", "rz", "rm", "rp"]
CMPS = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
WIDTH = {"f32": 32, "f64": 64, "f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32}
GEN = {"f32": "f32", "f64": "f64", "f16": "f16", "bf16": "bf16", "f16x2": "f16x4", "bf16x2": "bf16x4"}


def op(opcode, kind, arity, compare="bits", n=256, gen=None):
    operands = ", ".join(f"{{a{i}}}" for i in range(arity))
    return elementwise(f"{opcode}.{kind} {gen or ''}", f"{opcode}.{kind} {{d0}}, {operands};",
                       [(gen or GEN[kind], WIDTH[kind])] * arity, [WIDTH[kind]], compare, n)


def single():
    for arity, name in ((2, "add"), (2, "sub"), (2, "mul"), (3, "fma")):
        for rounding in ROUNDINGS:
            for suffix in ("", ".ftz", ".sat", ".ftz.sat"):
                yield op(f"{name}.{rounding}{suffix}", "f32", arity, n=512 if suffix == "" else 256)
            yield op(f"{name}.{rounding}", "f64", arity, n=512)
    for name in ("add", "sub", "mul"):
        yield op(name, "f32", 2)
        yield op(name, "f64", 2)
    for suffix in ("", ".ftz", ".sat"):
        yield op(f"mad.rn{suffix}", "f32", 3)
    yield op("mad.rn", "f64", 3)
    for name, arity in (("div", 2), ("rcp", 1), ("sqrt", 1)):
        for rounding in ROUNDINGS:
            yield op(f"{name}.{rounding}", "f32", arity, n=512)
            yield op(f"{name}.{rounding}.ftz", "f32", arity)
            yield op(f"{name}.{rounding}", "f64", arity, n=512)
    for name in ("abs", "neg"):
        for opcode in (name, f"{name}.ftz"):
            yield op(opcode, "f32", 1)
        yield op(name, "f64", 1)
    for name in ("min", "max"):
        for suffix in ("", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
            yield op(name + suffix, "f32", 2)
        yield op(name, "f64", 2)
    for kind in ("f32", "f64"):
        yield op("copysign", kind, 2)
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield elementwise(f"testp.{test}.{kind}", f"testp.{test}.{kind} {{d0}}, {{a0}};", [(kind, WIDTH[kind])], [1])


def comparisons():
    for cmp in CMPS:
        for kind in ("f32", "f64", "f16", "bf16"):
            yield elementwise(f"setp.{cmp}.{kind}", f"setp.{cmp}.{kind} {{d0}}, {{a0}}, {{a1}};", [(GEN[kind], WIDTH[kind])] * 2, [1])
        yield elementwise(f"setp.{cmp}.f16x2", f"setp.{cmp}.f16x2 {{d0}}|{{d1}}, {{a0}}, {{a1}};", [("f16x4", 32)] * 2, [1, 1])
    yield elementwise("setp.lt.bf16x2", "setp.lt.bf16x2 {d0}|{d1}, {a0}, {a1};", [("bf16x4", 32)] * 2, [1, 1])
    for cmp in ("eq", "lt", "geu"):
        yield elementwise(f"setp.{cmp}.ftz.f32", f"setp.{cmp}.ftz.f32 {{d0}}, {{a0}}, {{a1}};", [("f32", 32)] * 2, [1])
        yield elementwise(f"setp.{cmp}.ftz.f16", f"setp.{cmp}.ftz.f16 {{d0}}, {{a0}}, {{a1}};", [("f16", 16)] * 2, [1])
        for out, kind in (("f16", "f16"), ("bf16", "bf16"), ("f16x2", "f16x2"), ("bf16x2", "bf16x2"), ("u32", "f16"), ("s32", "bf16"), ("u16", "f16")):
            yield elementwise(f"set.{cmp}.{out}.{kind}", f"set.{cmp}.{out}.{kind} {{d0}}, {{a0}}, {{a1}};",
                              [(GEN[kind], WIDTH[kind])] * 2, [WIDTH.get(out, 16 if out == "u16" else 32)])


def halves():
    for kind in ("f16", "f16x2"):
        for arity, name in ((2, "add"), (2, "sub"), (2, "mul"), (3, "fma.rn")):
            for suffix in ("", ".ftz", ".sat", ".ftz.sat"):
                yield op(name + suffix, kind, arity)
        for suffix in (".relu", ".ftz.relu"):
            yield op("fma.rn" + suffix, kind, 3)
        for rounding in ("add.rn", "sub.rn", "mul.rn"):
            yield op(rounding, kind, 2)
        for name in ("abs", "neg"):
            yield op(name, kind, 1)
            yield op(name + ".ftz", kind, 1)
        for name in ("min", "max"):
            for suffix in ("", ".ftz", ".NaN", ".xorsign.abs", ".ftz.NaN.xorsign.abs"):
                yield op(name + suffix, kind, 2)
        yield op("ex2.approx", kind, 1, compare="f16 ulp 1", n=512)
        yield op("tanh.approx", kind, 1, compare="f16 ulp 1", n=512)
    for kind in ("bf16", "bf16x2"):
        for arity, name in ((2, "add"), (2, "sub"), (2, "mul"), (3, "fma.rn"), (3, "fma.rn.relu"), (2, "add.rn"), (2, "sub.rn"), (2, "mul.rn")):
            yield op(name, kind, arity)
        for name in ("abs", "neg"):
            yield op(name, kind, 1)
        for name in ("min", "max"):
            for suffix in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
                yield op(name + suffix, kind, 2)
        yield op("ex2.approx.ftz", kind, 1, compare="bf16 ulp 1", n=512)
        yield op("tanh.approx", kind, 1, compare="bf16 ulp 1", n=512)


# The ulp bounds are about the PTX manual's, against the hardware's own answer rather than the exact
# one: two approximations may err to different sides, so the bound is doubled.
def approximations():
    for ftz in ("", ".ftz"):
        for gen in ("f32", "positive32"):
            yield op(f"rcp.approx{ftz}", "f32", 1, compare="f32 ulp 2", n=512, gen=gen)
            yield op(f"rsqrt.approx{ftz}", "f32", 1, compare="f32 ulp 4", n=512, gen=gen)
            yield op(f"sqrt.approx{ftz}", "f32", 1, compare="f32 ulp 4", n=512, gen=gen)
            yield op(f"lg2.approx{ftz}", "f32", 1, compare="f32 ulp 4 abs 2.4e-7", n=512, gen=gen)
        for gen in ("f32", "angle32"):
            yield op(f"sin.approx{ftz}", "f32", 1, compare="f32 ulp 2 abs 1e-6", n=512, gen=gen)
            yield op(f"cos.approx{ftz}", "f32", 1, compare="f32 ulp 2 abs 1e-6", n=512, gen=gen)
        for gen in ("f32", "exp32"):
            yield op(f"ex2.approx{ftz}", "f32", 1, compare="f32 ulp 4", n=512, gen=gen)
        for kind in ("approx", "full"):
            yield op(f"div.{kind}{ftz}", "f32", 2, compare="f32 ulp 4", n=512)
            yield op(f"div.{kind}{ftz}", "f32", 2, compare="f32 ulp 4", n=512, gen="exp32")
    yield op("tanh.approx", "f32", 1, compare="f32 ulp 4096", n=512)
    yield op("tanh.approx", "f32", 1, compare="f32 ulp 4096", n=512, gen="unit32")
    for name in ("rcp.approx.ftz", "rsqrt.approx.ftz", "rsqrt.approx"):
        yield op(name, "f64", 1, compare="f64 ulp 8796093022208" if name != "rsqrt.approx" else "f64 ulp 4", n=512)


def cases():
    for family in (single, comparisons, halves, approximations):
        yield from family()

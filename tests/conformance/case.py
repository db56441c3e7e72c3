# SPDX-License-Identifier: Apache-2.0
"""A conformance case as text, and the frame that elementwise cases share."""
import re
import zlib
from dataclasses import dataclass, field

HEAD = """\
.version 9.0
.target sm_90
.address_size 64
{module}
.visible .entry test(.param .u64 in, .param .u64 out, .param .u32 n)
{{
  .reg .pred %p<16>;
  .reg .b16 %h<64>;
  .reg .b32 %r<128>;
  .reg .b64 %d<64>;
{declarations}  ld.param.u64 %d60, [in];
  ld.param.u64 %d61, [out];
  ld.param.u32 %r120, [n];
  cvta.to.global.u64 %d60, %d60;
  cvta.to.global.u64 %d61, %d61;
  mov.u32 %r121, %tid.x;
  mov.u32 %r122, %ctaid.x;
  mov.u32 %r123, %ntid.x;
  mad.lo.s32 %r124, %r122, %r123, %r121;
"""


def slug(text):
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


@dataclass
class Case:
    """%d60 = in, %d61 = out, %r120 = n, %r121 = tid.x, %r122 = ctaid.x, %r124 = global thread."""

    name: str
    about: str
    body: str
    generators: str = "bits"
    slots: int = 0
    out: int = 0
    grid: str = "1"
    block: str = "32"
    smem: int = 0
    n: int = 0
    fill: int = 0
    compare: str = "bits"
    module: str = ""
    declarations: list = field(default_factory=list)

    def text(self):
        seed = zlib.crc32(self.name.encode())
        declarations = "".join(f"  {line}\n" for line in self.declarations)
        head = HEAD.format(module=self.module, declarations=declarations)
        return (
            f"// SPDX-License-Identifier: Apache-2.0\n//@ about {self.about}\n"
            f"//@ launch grid {self.grid} block {self.block} smem {self.smem} n {self.n}\n"
            f"//@ in {self.generators} seed {seed} slots {self.slots}\n"
            f"//@ out {self.out} fill {self.fill}\n//@ cmp {self.compare}\n{head}{self.body}  ret;\n}}\n"
        )


REGISTER = {1: "p", 16: "h", 32: "r", 64: "d"}


def load(width, number, address):
    """Loads input register `number` of `width` bits."""
    if width == 1:
        return f"  ld.global.u32 %r119, [{address}];\n  setp.ne.u32 %p{number}, %r119, 0;\n"
    kind = {16: "u16", 32: "u32", 64: "u64"}[width]
    return f"  ld.global.{kind} %{REGISTER[width]}{number}, [{address}];\n"


def store(width, number, address):
    if width == 1:
        return f"  selp.u32 %r119, 1, 0, %p{number};\n  st.global.u32 [{address}], %r119;\n"
    kind = {16: "u16", 32: "u32", 64: "u64"}[width]
    return f"  st.global.{kind} [{address}], %{REGISTER[width]}{number};\n"


def elementwise(name, body, ins, outs, compare="bits", n=256, about=None):
    """One element per thread. ins: (generator, bits) each; outs: bits each. In `body`, {a0} {a1}…
    are the inputs, {d0} {d1}… the outputs; %p8.., %h32.., %r32.., %d32.. are free."""
    names, loads = {}, ""
    for i, (_, width) in enumerate(ins):
        names[f"a{i}"] = f"%{REGISTER[width]}{i}"
        loads += load(width, i, f"%d62+{8 * i}")
    stores, base = "", 0
    for i, width in enumerate(outs):
        names[f"d{i}"] = f"%{REGISTER[width]}{(4 if width == 1 else 16) + i}"
        size = 4 if width == 1 else width // 8
        stores += f"  mad.wide.u32 %d63, %r124, {size}, %d61;\n"
        stores += store(width, (4 if width == 1 else 16) + i, f"%d63+{base}")
        base += size * n
    lines = "".join(f"  {line.strip()}\n" for line in body.format(**names).strip().split("\n"))
    block = min(n, 128)
    return Case(
        name=slug(name), about=about or " ".join(body.split("\n")[0].split()).split(" ")[0].rstrip(";"),
        generators=",".join(g for g, _ in ins), slots=len(ins) * n, out=base, n=n,
        grid=str(n // block), block=str(block), compare=compare,
        body=f"  mad.wide.u32 %d62, %r124, {8 * len(ins)}, %d60;\n{loads}{lines}{stores}",
    )

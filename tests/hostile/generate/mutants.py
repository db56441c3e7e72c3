# SPDX-License-Identifier: Apache-2.0
"""Mutants of honest candidates: first-order ones, then pairs of them, always in the same order."""
import collections
import dataclasses
import hashlib
import pathlib
import random
import re

import operators
from source_text import REGION, Source


@dataclasses.dataclass(frozen=True)
class Mutant:
    base: str      # gemm_allgather/fused_lsa
    workload: str  # gemm_allgather
    edits: tuple   # of (operator, line, what it does)
    places: tuple  # of "function operator: what it does #n", which edits elsewhere do not change
    text: str

    @property
    def name(self):
        return f"{self.base}/{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"

    @property
    def key(self):
        """What names it when the rest of the file has changed."""
        return f"{self.base} " + " + ".join(self.places)

    @property
    def story(self):
        return "; ".join(f"{operator} line {line}: {what}" for operator, line, what in self.edits)


def bases(root):
    """Honest candidates in which GPUs communicate: (name, workload, text)."""
    for path in sorted((root / "tests/solutions").glob("*/*.cu")):
        yield f"{path.parent.name}/{path.stem}", path.parent.name, path.read_text()
    for path in sorted((root / "workloads").glob("*/program.cu")):
        yield f"{path.parent.name}/seed", path.parent.name, path.read_text()
    for path in sorted(pathlib.Path(__file__).parent.glob("honest/*/*.cu")):
        workload = path.parent.name
        seed = (root / "workloads" / workload / "program.cu").read_text()
        yield f"{workload}/{path.stem}", workload, with_regions(seed, expanded(path))


def expanded(path):
    """What the bases have in common is written once: "// common: NAME" stands for common/NAME.inc."""
    return re.sub(r"^// common: (\w+)\n", lambda m: (path.parents[1] / "common" / f"{m[1]}.inc").read_text(),
                  path.read_text(), flags=re.M)


def with_regions(seed, changed):
    """The seed with the regions that `changed` has."""
    for region in REGION.finditer(changed):
        head = region[0].split("\n", 1)[0].strip()
        seed = next(seed[:own.start()] + region[0] + seed[own.end():]
                    for own in REGION.finditer(seed) if own[0].split("\n", 1)[0].strip() == head)
    return seed


def first_order(base, workload, text):
    source = Source(text)
    functions = list(source.functions())
    seen = {text}
    counts = collections.Counter()
    for operator in operators.ALL:
        for place, what, edits in operator(source):
            changed = source.replaced(*edits)
            if changed in seen:
                continue
            seen.add(changed)
            # The innermost function; lambdas have no name here.
            inside = [name for name, (start, end) in functions if start <= place < end]
            where = f"{inside[-1] if inside else 'file'} {operator.__name__}: {what}"
            counts[where] += 1
            yield Mutant(base, workload, ((operator.__name__, source.line(place), what),),
                         (f"{where} #{counts[where]}",), changed), edits


def overlap(one, other):
    return any(a[0] < b[1] and b[0] < a[1] or a[:2] == b[:2] for a in one for b in other)


def all_mutants(root, pairs=0, only=None):
    """First-order mutants of every base, then `pairs` pairs of two of the same base."""
    singles = []
    sources = {}
    for base, workload, text in bases(root):
        if only and not any(word in base for word in only):
            continue
        sources[base] = Source(text)
        singles.append(list(first_order(base, workload, text)))
    for group in singles:
        yield from (mutant for mutant, _ in group)
    chance = random.Random(12)
    groups = [group for group in singles if len(group) > 1]
    made, seen = 0, set()
    for _ in range(20 * pairs if groups else 0):
        if made == pairs:
            return
        (one, edits), (other, more) = chance.sample(chance.choice(groups), 2)
        if overlap(edits, more):
            continue
        text = sources[one.base].replaced(*edits, *more)
        if text not in seen:
            seen.add(text)
            made += 1
            yield Mutant(one.base, one.workload, one.edits + other.edits, one.places + other.places, text)

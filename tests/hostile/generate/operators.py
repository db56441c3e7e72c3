# SPDX-License-Identifier: Apache-2.0
"""The mistakes that people and models make when GPUs communicate, as edits of a correct program.

Each operator takes a Source and yields (place, what it does, edits). Whether a mutant is wrong is not
known here: a barrier may be there twice. The judge's verdict, and a longer look at what it accepts,
say that.
"""
import re

SYNC = re.compile(r"__syncthreads|__syncwarp|__threadfence\w*|atomic_thread_fence|__pipeline_wait_prior"
                  r"|cudaStreamWaitEvent|cudaEventRecord|cuda(Stream|Device|Event)Synchronize"
                  r"|(?:\.|->)(sync|arrive|wait|arrive_and_wait|flush|wait\w*|store|put|signal)\b|memory_order_|\bvolatile\b")
RELATION = re.compile(r"(?<![<>=!-])(<=|>=|<|>|!=|==)(?![<>=])")


def synchronising_functions(source):
    """Names of the program's own functions that synchronise, by themselves or by what they call."""
    bodies = {name: source.code[start:end] for name, (start, end) in source.functions()}
    found = {name for name, body in bodies.items() if SYNC.search(body)}
    grown = True
    while grown:
        more = {name for name, body in bodies.items()
                if any(re.search(rf"\b{other}\b", body) for other in found)} - found
        found |= more
        grown = bool(more)
    return found


def is_synchronising(source, span, names):
    code = source.code[span[0]:span[1]]
    if re.match(r"(for|if|while|switch|return|const|auto)\b|\{", code):
        return False
    called = re.match(r"(?:[\w:]+(?:\.|->))*([A-Za-z_]\w*)\s*(?:<[^;{}()]*>\s*)?(?:<<<.*?>>>\s*)?\(", code, re.S)
    return bool(SYNC.match(code) or re.match(r"[\w.\->\[\]()]*(?:\.|->)(sync|arrive|wait\w*|flush)\b", code)
                or (called and called[1] in names))


def drop(source):
    """Leaves out a statement that synchronises: a fence, a barrier, a wait, a launch that waits."""
    names = synchronising_functions(source)
    for statements in source.blocks():
        for span in statements:
            if is_synchronising(source, span, names):
                yield span[0], "left out", [(*span, ";")]


def move(source):
    """Swaps a synchronising statement with its neighbour: too early, or too late."""
    names = synchronising_functions(source)
    for statements in source.blocks():
        for first, second in zip(statements, statements[1:]):
            for span in (first, second):
                other = second if span is first else first
                text = source.code[other[0]:other[1]]
                if not is_synchronising(source, span, names) or re.match(r"(return|const|auto|using|\w+ \w+ ?=)\b", text):
                    continue
                yield (span[0], "behind the next statement" if span is first else "before the statement above it",
                       [(*first, source.text[second[0]:second[1]]), (*second, source.text[first[0]:first[1]])])
                break


WEAKER = {
    "memory_order_seq_cst": ["memory_order_relaxed"],
    "memory_order_acq_rel": ["memory_order_acquire", "memory_order_release", "memory_order_relaxed"],
    "memory_order_release": ["memory_order_relaxed"],
    "memory_order_acquire": ["memory_order_relaxed"],
    "thread_scope_system": ["thread_scope_device", "thread_scope_block"],
    "thread_scope_device": ["thread_scope_block"],
    "__threadfence_system": ["__threadfence", "__threadfence_block"],
    "__threadfence": ["__threadfence_block"],
    "__syncthreads": ["__syncwarp"],
    "__syncwarp": ["__activemask"],
    "ncclCoopCta": ["ncclCoopThread"],
}


def weaken(source):
    """A weaker order, a narrower scope, a smaller group."""
    for strong, weaker in WEAKER.items():
        for site in source.find(rf"\b{strong}\b"):
            for weak in weaker:
                yield site.start(), f"{strong} -> {weak}", [(*site.span(), weak)]


def demand_less(source):
    """A wait that is content with one less."""
    for loop in source.find(r"\bwhile\s*(\()"):
        close = source.matching(loop.start(1))
        relation = close and RELATION.search(source.code, loop.end(), close)
        if relation and re.search(r"load|volatile|ld_|atomic", source.code[loop.start():close]):
            yield relation.start(), "one less is enough", [(relation.end(), close, f" ({source.text[relation.end():close].strip()}) - 1")]
    for call in source.find(r"(?:\.|->)wait\w+\s*(\()"):
        arguments = source.arguments(call.start(1))
        if arguments:
            start, end = arguments[-1]
            yield start, "one less is enough", [(start, end, f" ({source.text[start:end].strip()}) - 1")]
    for call in source.find(r"\b__pipeline_wait_prior\s*(\()"):
        close = source.matching(call.start(1))
        yield call.start(), "one more may be missing", [(call.end(), close, f"({source.text[call.end():close].strip()}) + 1")]


def skip_rank(source):
    """A loop over ranks that leaves one out; a peer that is oneself."""
    for bound in source.find(r"<\s*((?:[\w]+(?:\.|->))*(?:ranks|nRanks|n_ranks|lsaSize|world|peers))\b"):
        yield bound.start(), "the last rank is left out", [(*bound.span(1), f"{bound[1]} - 1")]
        start = re.compile(r"\bint \w+ = (0)\s*;\s*\w+\s*$").search(source.code, max(0, bound.start() - 40), bound.start())
        if start:
            yield start.start(), "the first rank is left out", [(*start.span(1), "1")]
    for peer in source.find(r"\(\s*([\w.]*rank)\s*\+\s*[\w]+\s*\)\s*%\s*[\w.]*ranks"):
        yield peer.start(), "always oneself", [(*peer.span(), f"({peer[1]})")]


STRAY = """
static cudaStream_t stray_stream() {
  static cudaStream_t stream = nullptr;
  if (stream == nullptr) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}
"""


def other_stream(source):
    """Work on a stream that nothing orders with the caller's."""
    host = re.search(r"^[ \t]*// cuco: evolve begin host[^\n]*\n", source.text, re.M)
    if not host:
        return
    for use in source.find(r"[,(]\s*(stream)\s*(?=>>>|\)|,)"):
        yield use.start(1), "on another stream", [(host.end(), host.end(), STRAY), (*use.span(1), "stray_stream()")]


def stale_set(source):
    """The first buffer set for all of them."""
    for use in source.find(r"\[(set)\]|\[(set) \*"):
        group = 1 if use[1] else 2
        yield use.start(), "always the first set", [(*use.span(group), "0")]


def fewer_stages(source):
    """A ring of buffers with one slot less than its users need."""
    for stages in source.find(r"constexpr int k(?:Stages|Slots|Depths|Buffers)\w* = (\d+)"):
        if int(stages[1]) > 1:
            yield stages.start(), "one stage less", [(*stages.span(1), str(int(stages[1]) - 1))]


def idle_lane(source):
    """One lane of each warp does not store."""
    store = re.compile(r"(\*?[\w.\->]+(\[[^;=]*\])+|\*\s*reinterpret_cast<[^;=]*?)\s*=[^=]")
    for statements in source.blocks():
        for start, end in statements:
            code = source.code[start:end]
            if store.match(code) or re.match(r"store\w*\(", code):
                yield start, "not by lane 30", [(start, start, "if ((threadIdx.x & 31) != 30) ")]


def forget_epoch(source):
    """What tells one call from the next is not moved on."""
    for step in source.find(r"(\+\+[\w.\->]*(?:epoch|expected|before|phase|generation|turn)\w*|[\w.\->]*(?:epoch|expected|before|phase|generation|turn)\w*\s*(?:\+\+|\+=[^;]*))\s*;"):
        yield step.start(), "not moved on", [(*step.span(1), "(void)0")]


def plain_atomics(source):
    """An atomic operation made of a load and a store."""
    for call in source.find(r"\batomicAdd\s*(\()"):
        arguments = source.arguments(call.start(1))
        if len(arguments) == 2:
            pointer, value = (source.text[s:e].strip() for s, e in arguments)
            close = source.matching(call.start(1))
            yield call.start(), "not atomic", [(call.start(), close + 1, f"((*({pointer}) += ({value})) - ({value}))")]
    for index in source.find(r"LsaBarrierSession<[^>]*>\s*\w+\((?:[^()]|\(\))*?,\s*(blockIdx\.\w)\s*\)"):
        yield index.start(), "one barrier for all blocks", [(*index.span(1), "0")]


ALL = [drop, move, weaken, demand_less, skip_rank, other_stream, stale_set, fewer_stages, idle_lane,
       forget_epoch, plain_atomics]

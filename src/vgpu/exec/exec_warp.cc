// SPDX-License-Identifier: Apache-2.0
// What lanes of a warp do together: shfl, vote, match, redux, elect, activemask
// (PTX ISA 9.7.9.6, 9.7.13.8 to 9.7.13.12).
//
// Every .sync operation begins with the rendezvous (Warp::meet). Lanes that came with different
// member masks may leave it together; each lane then reads its own members only.
#include <array>
#include <bit>

#include "vgpu/exec/exec.h"
#include "vgpu/exec/sync_shape.h"
#include "vgpu/lower/lowering.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

/// Calls f(lane, members) for the lanes that met; op.d is the member mask.
template <typename F>
void for_members(Warp& w, const Op& op, F&& f) {
  const std::uint32_t* masks = w.slots<std::uint32_t>(op.d);
  for_active(w.active, [&](unsigned l) { f(l, masks[l] & w.active); });
}

// ---- shfl

enum class Shuffle : std::uint8_t { Up, Down, Butterfly, Index };

template <Shuffle Mode>
void exec_shuffle(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const std::uint32_t* a = w.slots<std::uint32_t>(op.a);
  const std::uint32_t* b = w.slots<std::uint32_t>(op.b);
  const std::uint32_t* c = w.slots<std::uint32_t>(op.c);
  std::array<std::uint32_t, kLanes> result{};
  std::uint32_t in_range = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned delta = b[lane] & 31U;
    const unsigned segment = c[lane] >> 8U & 31U;
    const unsigned last = (lane & segment) | (c[lane] & 31U & ~segment);
    unsigned from = 0;
    bool valid = false;
    if constexpr (Mode == Shuffle::Up) {
      from = lane - delta;
      valid = static_cast<int>(from) >= static_cast<int>(last);
    } else if constexpr (Mode == Shuffle::Down) {
      from = lane + delta;
      valid = from <= last;
    } else if constexpr (Mode == Shuffle::Butterfly) {
      from = lane ^ delta;
      valid = from <= last;
    } else {
      from = (lane & segment) | (delta & ~segment);
      valid = from <= last;
    }
    // A lane that is not there has nothing to give: the hardware answers 0.
    from = valid ? from & 31U : lane;
    result[lane] = (w.active >> from & 1U) != 0 ? a[from] : 0;
    in_range |= static_cast<std::uint32_t>(valid) << lane;
  }
  detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(op.dst), w.active,
                                     [&](unsigned l) { return result[l]; });
  if (op.imm != 0) w.set_predicate(static_cast<Ref>(op.imm), in_range);
}

// ---- vote

enum class Vote : std::uint8_t { All, Any, Uniform, Ballot };

template <Vote Mode>
void exec_vote(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const std::uint32_t predicate = w.predicate(op.a);
  std::uint32_t answer = 0;
  for_members(w, op, [&](unsigned l, std::uint32_t members) {
    const std::uint32_t ayes = predicate & members;
    if constexpr (Mode == Vote::Ballot) {
      w.slots<std::uint32_t>(op.dst)[l] = ayes;
      return;
    }
    const bool all = ayes == members;
    const bool holds = Mode == Vote::All ? all : Mode == Vote::Any ? ayes != 0 : all || ayes == 0;
    answer |= static_cast<std::uint32_t>(holds) << l;
  });
  if constexpr (Mode != Vote::Ballot) w.set_predicate(op.dst, answer);
}

void exec_active_mask(Warp& w, const Op& op) {
  const std::uint32_t active = w.active;
  detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(op.dst), active,
                                     [&](unsigned) { return active; });
}

// ---- match

template <typename T, bool All>
void exec_match(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const Slot<T>* a = w.slots<T>(op.a);
  std::array<std::uint32_t, kLanes> result{};
  std::uint32_t agree = 0;
  for_members(w, op, [&](unsigned l, std::uint32_t members) {
    std::uint32_t same = 0;
    for_active(members, [&](unsigned m) { same |= static_cast<std::uint32_t>(a[m] == a[l]) << m; });
    result[l] = All ? (same == members ? members : 0) : same;
    if (same == members) agree |= 1U << l;
  });
  detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(op.dst), w.active,
                                     [&](unsigned l) { return result[l]; });
  if (op.imm != 0) w.set_predicate(static_cast<Ref>(op.imm), agree);
}

// ---- redux

struct ReduceAdd {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
};
struct ReduceMin {
  template <typename T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct ReduceMax {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct ReduceAnd {
  template <typename T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct ReduceOr {
  template <typename T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct ReduceXor {
  template <typename T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};

template <typename T, typename F>
void exec_redux(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const std::uint32_t* a = w.slots<std::uint32_t>(op.a);
  std::array<std::uint32_t, kLanes> result{};
  std::uint32_t known = 0;
  for_members(w, op, [&](unsigned l, std::uint32_t members) {
    if ((known >> l & 1U) != 0) return;
    auto value = from_slot<T>(a[l]);
    for_active(members & ~(1U << l), [&](unsigned m) { value = F{}(value, from_slot<T>(a[m])); });
    for_active(members, [&](unsigned m) { result[m] = to_slot<T>(value); });
    known |= members;
  });
  detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(op.dst), w.active,
                                     [&](unsigned l) { return result[l]; });
}

/// The lowest member leads.
void exec_elect(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  std::uint32_t leaders = 0;
  for_members(w, op, [&](unsigned l, std::uint32_t members) {
    const auto leader = static_cast<unsigned>(std::countr_zero(members));
    w.slots<std::uint32_t>(op.dst)[l] = leader;
    if (leader == l) leaders |= 1U << l;
  });
  w.set_predicate(static_cast<Ref>(op.imm), leaders);
}

// ---- lowering

Op& emit_sync(Lowering& lowering, Handler handler, CostClass cost, std::uint32_t shape) {
  Op& op = lowering.emit(handler, cost);
  op.flags |= Op::MeetsByMask;
  op.aux = shape;
  return op;
}

/// `d|p` or plain `d`: the data part, and the predicate as a Ref (0: none wanted).
struct Results {
  Ref data = kScratch;
  std::uint64_t predicate = 0;
};

Results results_of(Lowering& lowering, const ptx::Operand& operand) {
  if (operand.kind != ptx::Operand::Kind::Pair) {
    return {lowering.destination(operand, Type::B32), 0};
  }
  return {lowering.destination(operand.elements[0], Type::B32),
          lowering.predicate_destination(operand.elements[1])};
}

Handler shuffle_handler(const ptx::Instruction& in) {
  if (in.has(Modifier::Up)) return exec_shuffle<Shuffle::Up>;
  if (in.has(Modifier::Down)) return exec_shuffle<Shuffle::Down>;
  if (in.has(Modifier::Bfly)) return exec_shuffle<Shuffle::Butterfly>;
  return in.has(Modifier::Idx) ? exec_shuffle<Shuffle::Index> : nullptr;
}

Handler redux_handler(const ptx::Instruction& in) {
  const bool is_signed = !in.types.empty() && in.types[0] == Type::S32;
  if (in.has(Modifier::Add)) return exec_redux<std::uint32_t, ReduceAdd>;
  if (in.has(Modifier::Min)) {
    return is_signed ? exec_redux<std::int32_t, ReduceMin> : exec_redux<std::uint32_t, ReduceMin>;
  }
  if (in.has(Modifier::Max)) {
    return is_signed ? exec_redux<std::int32_t, ReduceMax> : exec_redux<std::uint32_t, ReduceMax>;
  }
  if (in.has(Modifier::And)) return exec_redux<std::uint32_t, ReduceAnd>;
  if (in.has(Modifier::Or)) return exec_redux<std::uint32_t, ReduceOr>;
  return in.has(Modifier::Xor) ? exec_redux<std::uint32_t, ReduceXor> : nullptr;
}

bool lower_shuffle(Lowering& lowering, const ptx::Instruction& in) {
  const Handler handler = shuffle_handler(in);
  if (handler == nullptr || in.operands.size() != 5) return false;
  const Ref a = lowering.source(in.operands[1], Type::B32);
  const Ref b = lowering.source(in.operands[2], Type::B32);
  const Ref c = lowering.source(in.operands[3], Type::B32);
  const Ref members = lowering.source(in.operands[4], Type::B32);
  const Results results = results_of(lowering, in.operands[0]);
  Op& op = emit_sync(lowering, handler, CostClass::Shared, 0);
  op.dst = results.data;
  op.imm = results.predicate;
  op.a = a;
  op.b = b;
  op.c = c;
  op.d = members;
  return true;
}

bool lower_vote(Lowering& lowering, const ptx::Instruction& in) {
  if (in.operands.size() != 3) return false;
  const bool ballot = in.has(Modifier::Ballot);
  const Handler handler = ballot                  ? exec_vote<Vote::Ballot>
                          : in.has(Modifier::All) ? exec_vote<Vote::All>
                          : in.has(Modifier::Any) ? exec_vote<Vote::Any>
                                                  : exec_vote<Vote::Uniform>;
  const Ref members = lowering.source(in.operands[2], Type::B32);
  const Ref predicate = lowering.source_predicate(in.operands[1]);
  const Ref dst = ballot ? lowering.destination(in.operands[0], Type::B32)
                         : lowering.predicate_destination(in.operands[0]);
  Op& op = emit_sync(lowering, handler, CostClass::Integer,
                     SyncShape::TakesPredicate | (ballot ? 0U : SyncShape::GivesPredicate));
  op.dst = dst;
  op.a = predicate;
  op.d = members;
  return true;
}

/// match, redux: d[|p], a, members.
bool lower_with_value(Lowering& lowering, const ptx::Instruction& in, Handler handler, Type type) {
  if (handler == nullptr || in.operands.size() != 3) return false;
  const Ref a = lowering.source(in.operands[1], type);
  const Ref members = lowering.source(in.operands[2], Type::B32);
  const Results results = results_of(lowering, in.operands[0]);
  Op& op = emit_sync(lowering, handler, CostClass::Special,
                     type == Type::B64 ? SyncShape::TakesWide : 0U);
  op.dst = results.data;
  op.imm = results.predicate;
  op.a = a;
  op.d = members;
  return true;
}

Handler match_handler(const ptx::Instruction& in, bool wide) {
  if (in.has(Modifier::All)) {
    return wide ? exec_match<std::uint64_t, true> : exec_match<std::uint32_t, true>;
  }
  return wide ? exec_match<std::uint64_t, false> : exec_match<std::uint32_t, false>;
}

}  // namespace

bool lower_warp(Lowering& lowering, const ptx::Instruction& in) {
  switch (in.opcode) {
    case Opcode::Shfl:
      return lower_shuffle(lowering, in);
    case Opcode::Vote:
      return lower_vote(lowering, in);
    case Opcode::Match: {
      const bool wide = !in.types.empty() && in.types[0] == Type::B64;
      return lower_with_value(lowering, in, match_handler(in, wide), wide ? Type::B64 : Type::B32);
    }
    case Opcode::Redux:
      return lower_with_value(lowering, in, redux_handler(in), Type::B32);
    case Opcode::Activemask: {
      if (in.operands.size() != 1) return false;
      lowering.emit(exec_active_mask, CostClass::Integer).dst =
          lowering.destination(in.operands[0], Type::B32);
      return true;
    }
    case Opcode::Elect: {
      if (in.operands.size() != 2) return false;
      const Ref members = lowering.source(in.operands[1], Type::B32);
      const Results results = results_of(lowering, in.operands[0]);
      Op& op = emit_sync(lowering, exec_elect, CostClass::Integer, 0);
      op.dst = results.data;
      op.imm = results.predicate == 0 ? kScratchPredicate : results.predicate;
      op.d = members;
      return true;
    }
    default:
      return false;
  }
}

}  // namespace cuco::vgpu

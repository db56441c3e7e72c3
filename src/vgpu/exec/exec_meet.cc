// SPDX-License-Identifier: Apache-2.0
// The rendezvous of .sync operations (PTX ISA 9.7.9.6, 9.7.13): lanes meet by member mask.
//
// Mostly the members come to the same instruction: splits merge there and one of them executes it.
// But the same operation with the same mask may stand in both branches of an if, and since Volta
// its lanes meet too. Then the last to come executes it for all: operands are gathered from the
// registers that each lane's own instruction names, and results go back the same way.
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "vgpu/exec/exec.h"
#include "vgpu/exec/sync_shape.h"
#include "vgpu/gpu/grid.h"

namespace cuco::vgpu {

namespace {

/// Lanes at one place, and the instruction and registers they have there.
struct Party {
  const Op* op = nullptr;
  Frame* frame = nullptr;
  std::uint32_t lanes = 0;
};

/// A register file of its own for the operands of all parties.
struct Table {
  static constexpr std::uint32_t kSlot = 8 * kLanes;
  alignas(64) std::array<std::byte, 5 * kSlot> registers{};
  std::array<std::uint32_t, 4> predicates{kFullMask, 0, 0, 0};
  static constexpr Ref kA = 0, kB = kSlot, kC = 2 * kSlot, kD = 3 * kSlot, kResult = 4 * kSlot;
  static constexpr Ref kPredicate = 1, kPredicateResult = 2, kExtraResult = 3;
};

void copy_lanes(std::byte* to, const std::byte* from, std::uint32_t lanes, std::uint32_t bytes) {
  for_active(lanes, [&](unsigned l) { std::memcpy(to + l * bytes, from + l * bytes, bytes); });
}

void copy_bits(std::uint32_t& to, std::uint32_t from, std::uint32_t lanes) {
  to = (to & ~lanes) | (from & lanes);
}

void gather(const Warp& w, const Party& party, Table& table) {
  const Op& op = *party.op;
  const auto fetch = [&](Ref to, Ref ref, std::uint32_t bytes) {
    if (ref == kNoRef) return;
    const std::byte* file =
        (ref & kConstantBit) != 0 ? w.grid->constants.data() : party.frame->registers.data();
    copy_lanes(table.registers.data() + to, file + (ref & ~kConstantBit), party.lanes, bytes);
  };
  if ((op.aux & SyncShape::TakesPredicate) != 0) {
    const std::uint32_t value =
        party.frame->predicates[op.a & ~kConstantBit] ^ (0U - (op.a >> 31U));
    copy_bits(table.predicates[Table::kPredicate], value, party.lanes);
  } else {
    fetch(Table::kA, op.a, (op.aux & SyncShape::TakesWide) != 0 ? 8 : 4);
  }
  fetch(Table::kB, op.b, 4);
  fetch(Table::kC, op.c, 4);
  fetch(Table::kD, op.d, 4);
}

void scatter(const Table& table, const Party& party) {
  const Op& op = *party.op;
  if (op.dst != kNoRef) {
    if ((op.aux & SyncShape::GivesPredicate) != 0) {
      copy_bits(party.frame->predicates[op.dst], table.predicates[Table::kPredicateResult],
                party.lanes);
    } else {
      copy_lanes(party.frame->registers.data() + op.dst, table.registers.data() + Table::kResult,
                 party.lanes, 4);
    }
  }
  if (op.imm != 0) {
    copy_bits(party.frame->predicates[op.imm], table.predicates[Table::kExtraResult], party.lanes);
  }
}

/// The op with the table's operands instead of its own.
Op joint_op(const Op& op) {
  Op joint = op;
  joint.a = (op.aux & SyncShape::TakesPredicate) != 0 ? Table::kPredicate : Table::kA;
  joint.b = Table::kB;
  joint.c = Table::kC;
  joint.d = Table::kD;
  joint.dst = (op.aux & SyncShape::GivesPredicate) != 0 ? Table::kPredicateResult : Table::kResult;
  joint.imm = Table::kExtraResult;
  return joint;
}

void execute_jointly(Warp& w, const std::vector<Party>& parties) {
  Table table;
  std::uint32_t lanes = 0;
  for (const Party& party : parties) {
    gather(w, party, table);
    lanes |= party.lanes;
  }
  const Op joint = joint_op(*parties.front().op);
  const auto bank = w.bank;
  std::uint32_t* const predicates = w.predicates;
  const std::uint32_t active = w.active;
  w.bank[0] = table.registers.data();
  w.predicates = table.predicates.data();
  w.active = lanes;
  w.meeting = true;
  joint.run(w, joint);
  w.meeting = false;
  w.active = active;
  w.predicates = predicates;
  w.bank = bank;
  for (const Party& party : parties)
    scatter(table, party);
}

/// Serves `lanes`, which came to `op` for `members`, together with splits that wait for the same
/// members at the same operation elsewhere. False: some are still missing.
bool meet_elsewhere(Warp& w, const Op& op, std::uint32_t members, std::uint32_t lanes) {
  if ((op.flags & Op::MeetsByMask) == 0) return false;
  std::vector<Party> parties{{&op, w.splits[w.current].frame, lanes}};
  std::uint32_t here = lanes;
  const auto fits = [&](const Split& split) {
    if (split.state != Split::State::Sync || split.members != members) return false;
    const Op& other = w.kernel->ops[split.op];
    return other.run == op.run && other.aux == op.aux;
  };
  for (const Split& split : w.splits) {
    if (!fits(split)) continue;
    parties.push_back({&w.kernel->ops[split.op], split.frame, split.mask});
    here |= split.mask;
  }
  if ((members & w.alive & ~here) != 0) return false;
  execute_jointly(w, parties);
  for (Split& split : w.splits) {
    if (!fits(split)) continue;
    w.grid->counters.waiting += w.clock - split.since;
    split.state = Split::State::Runnable;
    split.ready_at = w.clock;
    ++split.op;
  }
  return true;
}

/// The lanes leave the running split and wait at `op`.
void put_aside(Warp& w, const Op& op, std::uint32_t members, std::uint32_t lanes) {
  if (lanes == w.mask) {
    block_split(w, Split::State::Sync, &op);
    w.splits[w.current].members = members;
    return;
  }
  Split rest;
  rest.frame = w.splits[w.current].frame;
  rest.op = static_cast<std::uint32_t>(&op - w.kernel->ops.data());
  rest.mask = lanes;
  rest.state = Split::State::Sync;
  rest.members = members;
  rest.since = w.clock;
  rest.ready_at = w.clock;
  w.mask &= ~lanes;
  w.splits[w.current].mask = w.mask;
  w.splits.push_back(std::move(rest));
}

/// Do all lanes name all lanes?
bool is_everybody(const std::uint32_t* members) {
  std::uint32_t all = kFullMask;
  for (unsigned l = 0; l < kLanes; ++l)
    all &= members[l];
  return all == kFullMask;
}

}  // namespace

std::uint32_t Warp::meet(const Op& op, Ref members_ref) {
  if (meeting) {
    if (observer != nullptr) observer->on_warp_sync(*this, op, active);
    return active;
  }
  const std::uint32_t* members = slots<std::uint32_t>(members_ref);
  if (active == kFullMask && is_everybody(members)) {
    if (observer != nullptr) observer->on_warp_sync(*this, op, active);
    return active;
  }
  std::uint32_t ready = 0;
  for (std::uint32_t open = active; open != 0;) {
    const std::uint32_t mine = members[std::countr_zero(open)];
    std::uint32_t group = 0;
    for_active(open, [&](unsigned l) {
      if (members[l] == mine) group |= 1U << l;
    });
    if ((group & ~mine) != 0) {
      raise(op, TrapKind::IllegalInstruction,
            static_cast<unsigned>(std::countr_zero(group & ~mine)),
            "executing lane is not in its member mask");
      return 0;
    }
    open &= ~group;
    if ((mine & alive & ~group) == 0) {
      ready |= group;
      continue;
    }
    flush_segment();
    if (!meet_elsewhere(*this, op, mine, group)) put_aside(*this, op, mine, group);
    // Others wait, or run again: the loop must stop for them. Stopped already: it stays so.
    if (stop != nullptr) update_stop(*this);
  }
  if (ready == 0) return 0;
  active = ready;
  if (observer != nullptr) observer->on_warp_sync(*this, op, ready);
  return ready;
}

}  // namespace cuco::vgpu

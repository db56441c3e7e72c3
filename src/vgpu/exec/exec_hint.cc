// SPDX-License-Identifier: Apache-2.0
// Hints to the caches: they change nothing that a program can see (PTX ISA 9.7.9.15 to 9.7.9.19),
// but for discard, behind which nobody knows what is there.
#include <array>
#include <cstring>

#include "vgpu/exec/exec.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/memory/access.h"

namespace cuco::vgpu {

namespace {

void exec_nothing(Warp&, const Op&) {}

constexpr std::uint32_t kDiscarded = 128;  ///< Bytes, by each lane.
constexpr std::uint32_t kPart = 16;        ///< That are stored at once.

/// A weak write of an indeterminate value: no number, in any type.
void exec_discard(Warp& w, const Op& op) {
  std::array<std::uint16_t, kPart / 2> nothing{};
  nothing.fill(0xFFF7);
  LaneAddresses addresses;
  gather_addresses(w, op, addresses);
  for (std::uint32_t at = 0; at < kDiscarded && !w.trapped(); at += kPart) {
    account(w, op, AccessKind::Store, addresses, kPart);
    for_active(w.active, [&](unsigned l) {
      if (w.trapped()) return;
      std::byte* to = resolve(w, op, ptx::Space::Global, l, addresses[l], kPart);
      if (to == nullptr) return;
      std::memcpy(to, nothing.data(), kPart);
      after_write(w, ptx::Space::Global, addresses[l], kPart);
      addresses[l] += kPart;
    });
  }
  note_progress(w);
}

/// createpolicy: a policy is an opaque number.
void exec_policy(Warp& w, const Op& op) {
  detail::store_lanes<std::uint64_t>(w.slots<std::uint64_t>(op.dst), w.active,
                                     [](unsigned) { return std::uint64_t{0}; });
}

}  // namespace

bool lower_hint(Lowering& lowering, const ptx::Instruction& in) {
  if (in.opcode == ptx::Opcode::Discard) {
    if (in.operands.empty()) return false;
    MemoryOperand memory = lowering.memory_operand(in.operands[0], ptx::Type::B128);
    memory.aux.space = ptx::Space::Global;
    memory.apply(lowering.emit(exec_discard, CostClass::Memory));
    return true;
  }
  if (in.opcode != ptx::Opcode::Createpolicy) {
    lowering.emit(exec_nothing, CostClass::Move);
    return true;
  }
  if (in.operands.empty()) return false;
  const Ref dst = lowering.destination(in.operands[0], ptx::Type::B64);
  lowering.emit(exec_policy, CostClass::Move).dst = dst;
  return true;
}

}  // namespace cuco::vgpu

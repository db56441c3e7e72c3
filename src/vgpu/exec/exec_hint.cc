// SPDX-License-Identifier: Apache-2.0
// Hints to the caches: they change nothing that a program can see (PTX ISA 9.7.9.15 to 9.7.9.19).
#include "vgpu/exec/exec.h"
#include "vgpu/lower/lowering.h"

namespace cuco::vgpu {

namespace {

void exec_nothing(Warp&, const Op&) {}

/// createpolicy: a policy is an opaque number.
void exec_policy(Warp& w, const Op& op) {
  detail::store_lanes<std::uint64_t>(w.slots<std::uint64_t>(op.dst), w.active,
                                     [](unsigned) { return std::uint64_t{0}; });
}

}  // namespace

bool lower_hint(Lowering& lowering, const ptx::Instruction& in) {
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

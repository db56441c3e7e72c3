// SPDX-License-Identifier: Apache-2.0
// Barriers, fences and meetings of lanes, as the checker sees them.
#include <bit>
#include <utility>

#include "check/block_state.h"
#include "check/checker.h"
#include "check/spelling.h"
#include "vgpu/lower/code.h"

namespace cuco::check {
namespace {

/// A barrier in an unrolled loop is several instructions of one line.
bool same_line(const vgpu::Kernel& kernel, std::uint32_t a, std::uint32_t b) {
  const ptx::Instruction* one = kernel.origins[a].instruction;
  const ptx::Instruction* two = kernel.origins[b].instruction;
  if (one == nullptr || two == nullptr || one->source.line == 0) return false;
  return one->source.file == two->source.file && one->source.line == two->source.line &&
         one->caller.line == two->caller.line;
}

}  // namespace

void Checker::on_fence(const vgpu::Warp& warp, const vgpu::Op&, Order order, Scope scope) {
  if (!options_.global_races) return;
  const BlockState& block = state_of(warp);
  races_.fence(block.first + warp.index, order, scope, warp.active);
  if (releases(order)) go_on_reading(block, warp);
}

void Checker::on_barrier_arrive(const vgpu::Warp& warp,
                                const vgpu::Op& op,
                                unsigned id,
                                std::uint32_t) {
  if (has_deferred()) settle();
  BlockState& block = state_of(warp);
  block.async.follow(warp);
  BlockState::Meeting& meeting = block.meetings[id % 16];
  if (options_.global_races) races_.sync_lanes(block.first + warp.index);
  const bool first = block.order.arrive(warp.index, id % 16);
  if (first) meeting = {nullptr, op.source, 0, false, {}, {}};
  // Barriers without a count are for the whole block: everybody must come to the same one.
  if (op.b == vgpu::kNoRef && op.source != meeting.origin &&
      !same_line(*warp.kernel, op.source, meeting.origin)) {
    meeting.other = op.source;
  }
  if (options_.global_races) {
    meeting.gathered = Clock::join(meeting.gathered, races_.clock(block.first + warp.index));
    races_.gather_fences(block.first + warp.index, meeting.fences);
    for (std::size_t space = 0; space < kProxySpaces; ++space) {
      ClockPtr& gathered = meeting.proxied[space];
      gathered = Clock::join(gathered, block.proxied[space][warp.index]);
    }
  }
}

void Checker::on_barrier_release(const vgpu::Warp& warp, unsigned id, std::uint32_t) {
  BlockState& block = state_of(warp);
  BlockState::Meeting& meeting = block.meetings[id % 16];
  if (meeting.other != 0 && !std::exchange(meeting.is_told, true)) {
    report_barrier(block, warp, meeting.origin, meeting.other);
  }
  block.order.leave(warp.index, id % 16);
  block.shared.sync_lanes(warp.index);
  if (!options_.global_races) return;
  if (meeting.gathered) races_.learn(block.first + warp.index, meeting.gathered);
  races_.take_fences(block.first + warp.index, meeting.fences);
  for (std::size_t space = 0; space < kProxySpaces; ++space) {
    if (meeting.proxied[space]) block.proxied[space][warp.index] = meeting.proxied[space];
  }
}

void Checker::report_barrier(const BlockState& block,
                             const vgpu::Warp& warp,
                             std::uint32_t first,
                             std::uint32_t other) {
  Finding finding;
  finding.kind = Kind::BarrierMismatch;
  finding.where = place_of(*warp.kernel, other);
  finding.where.what = "barrier";
  finding.where.rank = block_records_[block.record].rank;
  finding.where.block = coordinates(block_records_[block.record].index);
  finding.other = place_of(*warp.kernel, first);
  finding.other->what = "barrier";
  finding.message = "threads of one block met at two different __syncthreads()";
  finding.hint =
      "take the barrier out of the branch: all threads of the block must reach the same "
      "one";
  findings_.add(std::move(finding));
}

void Checker::on_warp_sync(const vgpu::Warp& warp, const vgpu::Op& op, std::uint32_t lanes) {
  if (has_deferred()) settle();
  // Shuffles, votes and matrix operations exchange registers; only __syncwarp() orders memory.
  const ptx::Instruction* in = warp.kernel->origins[op.source].instruction;
  if (in == nullptr || (in->opcode != ptx::Opcode::Bar && in->opcode != ptx::Opcode::Barrier)) {
    return;
  }
  BlockState& block = state_of(warp);
  // Tiles of a warp may meet at one instruction, each for itself.
  const std::uint32_t* members = warp.slots<std::uint32_t>(op.d);
  while (lanes != 0) {
    const std::uint32_t group = members[std::countr_zero(lanes)];
    if ((warp.alive & ~group) == 0) {
      if (options_.global_races) races_.sync_lanes(block.first + warp.index);
      return block.shared.sync_lanes(warp.index);
    }
    if (options_.global_races) races_.sync_lanes(block.first + warp.index, group);
    block.shared.sync_lanes(warp.index, group);
    lanes &= ~group;
  }
}

}  // namespace cuco::check

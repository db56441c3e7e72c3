// SPDX-License-Identifier: Apache-2.0
// Bulk copies, as the checker sees them. What they write to global memory is an actor's of their
// own: it knows what the thread knew that began it, and is part of what that thread does once it
// has waited for it.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "check/block_state.h"
#include "check/checker.h"
#include "vgpu/lower/code.h"

namespace cuco::check {

void Checker::on_bulk_begin(const vgpu::Warp& warp, const vgpu::BulkCopy& copy) {
  if (copy.bytes == 0) return;
  if (has_deferred()) settle();
  BlockState& block = state_of(warp);
  BulkCopies::Copy mine;
  mine.what = copy;
  mine.warp = warp.index;
  mine.site =
      site_of(warp, *copy.op, copy.to_shared ? AccessKind::Load : AccessKind::Store, copy.bytes);
  if (options_.global_races && !copy.to_shared) {
    const ActorId actor = block.first + warp.index;
    mine.writer = races_.add_actors(races_.info(actor), 1, races_.publish(actor));
  }
  if (!copy.to_shared && options_.shared_races && !block.bulk.empty()) {
    // It reads its source, which another copy may be bringing.
    std::array<Address, vgpu::kLanes> addresses{};
    addresses[copy.lane] = copy.shared;
    check_bulk(block, warp, *copy.op,
               {.kind = AccessKind::Load,
                .space = ptx::Space::Shared,
                .bytes = copy.bytes,
                .lanes = 1U << copy.lane,
                .addresses = addresses});
  }
  check_proxy(block, warp, copy);
  block.bulk.add(mine);
}

void Checker::on_bulk_seen(const vgpu::Warp& warp, const vgpu::BulkCopy& copy, bool whole) {
  if (has_deferred()) settle();
  BlockState& block = state_of(warp);
  BulkCopies::Copy* mine = block.bulk.find(copy);
  if (mine == nullptr) return;
  mine->has_read = true;
  if (!whole) return;
  if (mine->writer != kNoActor) {
    races_.adopt(mine->writer, block.first + warp.index);
  }
  block.bulk.remove(mine);
}

void Checker::forget_bulk(BlockState& block) {
  for (const BulkCopies::Copy& copy : block.bulk.all()) {
    if (copy.writer != kNoActor) races_.retire(copy.writer);
  }
  block.bulk.reset();
}

void Checker::check_bulk(const BlockState& block,
                         const vgpu::Warp& warp,
                         const vgpu::Op& op,
                         const vgpu::AccessEvent& event) {
  const bool writes = event.kind != AccessKind::Load;
  // Mostly no copy touches anything between the first and the last lane.
  Address begin = ~Address{0};
  Address end = 0;
  for (std::uint32_t rest = event.lanes; rest != 0; rest &= rest - 1) {
    const Address offset = event.addresses[static_cast<unsigned>(std::countr_zero(rest))];
    begin = std::min(begin, offset);
    end = std::max(end, offset + event.bytes);
  }
  if (end <= begin || block.bulk.conflict(begin, end - begin, writes) == nullptr) return;
  for (std::uint32_t rest = event.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Address offset = event.addresses[lane];
    const BulkCopies::Copy* copy = block.bulk.conflict(offset, event.bytes, writes);
    if (copy == nullptr) continue;
    const std::uint32_t site = site_of(warp, op, event.kind, event.bytes);
    const std::uint64_t key = std::uint64_t{site} << 32U | copy->site;
    if (const auto known = reported_.find(key); known != reported_.end()) {
      return findings_.count(known->second);
    }
    Finding finding;
    finding.kind = Kind::SharedRace;
    finding.where = describe(site, block.first + warp.index, lane);
    finding.other = describe(copy->site, block.first + copy->warp, copy->what.lane);
    finding.other->what = fmt::format("bulk copy of {} bytes", copy->what.bytes);
    finding.address = offset;
    const bool to_shared = copy->what.to_shared;
    finding.message =
        fmt::format("{} byte {} of shared memory, {} a bulk copy that nobody has waited for",
                    writes ? "writes" : "reads", offset, to_shared ? "the target of" : "read by");
    finding.hint = to_shared
                       ? "wait for this phase of the copy's mbarrier first, which must expect all "
                         "bytes of the copies that it stands for"
                       : "let the thread that began it wait (cp.async.bulk.wait_group.read), then "
                         "meet at a barrier";
    if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
    return;
  }
}

}  // namespace cuco::check

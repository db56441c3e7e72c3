// SPDX-License-Identifier: Apache-2.0
// Bulk copies go to memory by another way than loads and stores (the async proxy). What a store
// wrote is there for a bulk copy only behind a fence.proxy.async that comes after the store and
// before the copy: of the thread that stored, of the one that copies, or of one between them. The
// end of a kernel is such a fence, and so is the completion of a bulk copy for those who waited.
#include <utility>

#include <fmt/format.h>

#include "check/block_state.h"
#include "check/checker.h"
#include "vgpu/lower/code.h"

namespace cuco::check {
namespace {

/// Which memory a fence is for.
std::array<bool, kProxySpaces> spaces_of(const vgpu::Warp& warp, const vgpu::Op& op) {
  const ptx::Instruction* in = warp.kernel->origins[op.source].instruction;
  if (in == nullptr || !in->has(ptx::Modifier::Async)) return {false, false};
  const bool global = in->has(ptx::Modifier::Global);
  const bool shared = in->text.find(".shared") != std::string::npos;
  return {shared || !global, global || !shared};
}

}  // namespace

void Checker::on_proxy_fence(const vgpu::Warp& warp, const vgpu::Op& op) {
  if (!options_.global_races) return;
  const auto spaces = spaces_of(warp, op);
  BlockState& block = state_of(warp);
  const ActorId actor = block.first + warp.index;
  const ClockPtr known = races_.publish(actor);
  for (std::size_t space = 0; space < kProxySpaces; ++space) {
    if (!spaces[space]) continue;
    ClockPtr& mine = block.proxied[space][warp.index];
    mine = Clock::join(mine, known);
    proxy_fences_[actor][space] = known->epoch_of(actor);
  }
}

bool Checker::is_proxied(const BlockState& block,
                         unsigned warp,
                         ProxySpace space,
                         const Stamp& write) const {
  const auto fence = proxy_fences_.find(write.actor);
  if (fence != proxy_fences_.end() && fence->second[space] >= write.epoch) return true;
  return races_.is_known(block.proxied[space][warp], write);
}

void Checker::check_proxy(const BlockState& block,
                          const vgpu::Warp& warp,
                          const vgpu::BulkCopy& copy) {
  if (!options_.global_races || !options_.shared_races) return;
  Stamp write;
  for (Address word = copy.shared / 4; word < (copy.shared + copy.bytes + 3) / 4; ++word) {
    const auto last = block.shared.last_write(static_cast<std::uint32_t>(word));
    if (!last || sites_[last->site].is_bulk) continue;
    // A race, if it is not ordered at all, is found by others.
    const bool is_ordered =
        last->warp == warp.index || block.order.known(warp.index, last->warp) >= last->epoch;
    write.actor = block.first + last->warp;
    write.epoch = last->epoch;
    write.site = last->site;
    write.lane = kManyLanes;
    if (is_ordered && !is_proxied(block, warp.index, kSharedProxy, write))
      return report_proxy(block, warp, copy, kSharedProxy, word * 4, write);
  }
  const ActorId actor = block.first + warp.index;
  const ClockPtr known = races_.knowledge(actor);
  const Address from = warp.memory->canonical(copy.global);
  for (Address word = from; word < from + copy.bytes; word += 4) {
    write = races_.last_write(word);
    if (write.actor == kNoActor || !sites_[write.site].in_kernel || sites_[write.site].is_bulk)
      continue;
    const bool is_ordered = write.actor == actor || races_.is_known(known, write);
    if (is_ordered && !races_.came_before_kernel(write, actor) &&
        !is_proxied(block, warp.index, kGlobalProxy, write)) {
      return report_proxy(block, warp, copy, kGlobalProxy, word, write);
    }
  }
}

void Checker::report_proxy(const BlockState& block,
                           const vgpu::Warp& warp,
                           const vgpu::BulkCopy& copy,
                           ProxySpace space,
                           Address address,
                           const Stamp& write) {
  const auto kind = copy.to_shared ? AccessKind::Load : AccessKind::Store;
  const std::uint32_t site = site_of(warp, *copy.op, kind, copy.bytes);
  const std::uint64_t key = std::uint64_t{site} << 32U | write.site;
  if (const auto known = reported_.find(key); known != reported_.end()) {
    return findings_.count(known->second);
  }
  Finding finding;
  finding.kind = space == kSharedProxy ? Kind::SharedRace : Kind::GlobalRace;
  finding.where = describe(site, block.first + warp.index, copy.lane);
  finding.where.what = fmt::format("bulk copy of {} bytes", copy.bytes);
  finding.other = describe(write.site, write.actor, write.lane);
  finding.address = address;
  const bool is_target = (space == kSharedProxy) == copy.to_shared;
  finding.message = fmt::format(
      "a bulk copy {} bytes that were written by stores, without a fence.proxy.async between",
      !is_target               ? "reads"
      : copy.reduce != nullptr ? "adds to"
                               : "overwrites");
  finding.hint =
      "let the threads that store execute fence.proxy.async (cuda::ptx::fence_proxy_async) behind "
      "their stores, then meet, then begin the copy: it goes another way than loads and stores";
  if (space == kGlobalProxy) locate(finding, address);
  if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
}

}  // namespace cuco::check

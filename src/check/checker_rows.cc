// SPDX-License-Identifier: Apache-2.0
// Accesses of whole warps to neighbouring bytes, or to one place: nearly all that kernels do. One
// question per row; who is wrong is found out lane by lane.
#include "check/block_state.h"
#include "check/checker.h"

namespace cuco::check {

inline SharedRaces::Access Checker::words_of(const vgpu::Warp& warp, const vgpu::RowEvent& row) {
  return {
      .warp = warp.index,
      .first = static_cast<std::uint32_t>(row.first / 4),
      .count = row.bytes / 4 * (row.same ? 1 : vgpu::kLanes),
      .site = site_of(warp, *row.op, row.kind, row.bytes),
      .lane_words = row.same ? 0 : row.bytes / 4,
  };
}

void Checker::on_rows(const vgpu::Warp& warp, std::span<const vgpu::RowEvent> rows) {
  if (has_deferred()) settle();
  BlockState& block = state_of(warp);
  block.async.follow(warp);
  SharedRaces::QuickReader reader(block.shared, warp.index);
  for (const vgpu::RowEvent& row : rows) {
    bool fine = false;
    if (row.space == ptx::Space::Shared && row.kind == AccessKind::Load && row.bytes == 4 &&
        options_.shared_races && block.async.empty() && block.bulk.empty()) {
      // The inner loops of tiled kernels.
      const auto word = static_cast<std::uint32_t>(row.first / 4);
      const std::uint32_t site = site_of(warp, *row.op, row.kind, row.bytes);
      fine = row.same ? reader.read_word(word, site) : reader.read_row(word, site);
    } else {
      fine = check_row(block, warp, row);
    }
    if (!fine) [[unlikely]]
      AccessObserver::on_rows(warp, {&row, 1});
  }
}

bool Checker::check_row(BlockState& block, const vgpu::Warp& warp, const vgpu::RowEvent& row) {
  const std::uint32_t bytes = row.same ? row.bytes : row.bytes * vgpu::kLanes;
  const bool reads = row.kind == AccessKind::Load;
  if (row.space == ptx::Space::Shared) {
    if (!options_.shared_races) return true;
    if (row.bytes < 4 || block.async.touches(row.first, bytes)) return false;
    if (!block.bulk.empty() && block.bulk.conflict(row.first, bytes, !reads) != nullptr)
      return false;
    const SharedRaces::Access access = words_of(warp, row);
    return reads ? SharedRaces::QuickReader(block.shared, warp.index).read(access)
                 : block.shared.quick_write(access);
  }
  if (options_.memory) {
    if (!memory_.is_fine(row.first, bytes, reads)) return false;
    if (!reads) memory_.mark_written(row.first, bytes);
  }
  if (options_.global_races) {
    Access access{row.kind,  Order::Weak, Scope::Sys,
                  row.first, bytes,       site_of(warp, *row.op, row.kind, row.bytes)};
    access.lane = row.same ? kManyLanes : 0;
    access.lane_bytes = row.same ? 0 : row.bytes;
    access.by_all_lanes = row.same;
    access.is_constant = sites_[access.site].is_constant;
    races_.access(block.first + warp.index, access);
  }
  return true;
}

}  // namespace cuco::check

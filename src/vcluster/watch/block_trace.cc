// SPDX-License-Identifier: Apache-2.0
#include "vcluster/watch/block_trace.h"

#include <algorithm>
#include <cstring>

#include "vcluster/core/operation.h"
#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/gpu/warp.h"
#include "vgpu/lower/program.h"

namespace cuco::vcluster {
namespace {

/// Of one launch; more are not looked at.
constexpr std::uint64_t kMostBlocks = 1U << 16U;
/// Of all maps together; launches beyond that have none.
constexpr std::size_t kMostRows = 1U << 20U;
constexpr std::size_t kMostSteps = 1U << 14U;

std::uint64_t hash_of(const BlockMap& map) {
  std::uint64_t hash = map.size();
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9E37'79B9'7F4A'7C15U;
    hash ^= hash >> 29U;
  };
  for (const BlockRows& block : map) {
    for (const std::vector<ByteRows>* list : {&block.read, &block.written}) {
      mix(list->size());
      for (const ByteRows& rows : *list) {
        mix(rows.first);
        mix(rows.bytes);
        mix(rows.rows);
        mix(rows.pitch);
      }
    }
  }
  return hash;
}

/// Of an argument; nothing where it cannot be one. Pointers are told apart by who looks them up.
std::optional<std::int64_t> number_in(std::span<const std::byte> arguments,
                                      const vgpu::ParameterInfo& parameter) {
  if (parameter.offset + parameter.bytes > arguments.size()) return std::nullopt;
  const auto* at = arguments.data() + parameter.offset;
  if (parameter.bytes == sizeof(std::int32_t)) {
    std::int32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::int64_t value = 0;
  if (parameter.bytes != sizeof value) return std::nullopt;
  std::memcpy(&value, at, sizeof value);
  if (vgpu::is_mapped_region(static_cast<std::uint64_t>(value))) return std::nullopt;
  return value;
}

std::size_t rows_in(const BlockMap& map) {
  std::size_t count = 0;
  for (const BlockRows& block : map)
    count += block.read.size() + block.written.size();
  return count;
}

}  // namespace

// A kernel has few buffers, and touches one of them for a while: the last place is mostly right.
const BlockTrace::Place& BlockTrace::place_of(std::uint64_t address) {
  if (address >= last_place_.begin && address < last_place_.end) return last_place_;
  const auto held = holder_(address);
  if (!held) {
    last_place_ = {address, address + 1, 0};
    return last_place_;
  }
  last_place_ = {held->base, held->base + held->buffer.bytes, held->buffer.number};
  if (buffers_.try_emplace(held->buffer.number, record_.buffers.size()).second)
    record_.buffers.push_back(held->buffer);
  return last_place_;
}

std::vector<TracedPart> BlockTrace::parts_of(std::span<const ByteRange> ranges) {
  std::vector<TracedPart> out;
  for (const ByteRange& range : ranges) {
    if (range.begin >= range.end || !memory_->valid(range.begin, 1)) continue;
    const std::uint64_t begin = memory_->canonical(range.begin);
    const Place place = place_of(begin);
    if (place.buffer != 0)
      out.push_back({place.buffer, begin - place.begin, range.end - range.begin});
  }
  return out;
}

void BlockTrace::start_grid(const Work& work,
                            std::int32_t device,
                            vgpu::GridId grid,
                            const KernelOperation& kernel,
                            const vgpu::KernelInfo& info) {
  Running& running = running_[{device, grid}];
  last_place_ = {};  // Memory may have changed hands.
  last_grid_ = nullptr;
  TracedStep& step = running.step;
  step.kind = "kernel";
  step.name = info.name;
  step.order = work.order;
  step.device = device;
  step.stream = work.stream;
  step.grid = kernel.grid;
  step.block = kernel.block;
  for (std::uint32_t i = 0; i < info.parameters.size(); ++i) {
    const vgpu::ParameterInfo& parameter = info.parameters[i];
    if (const auto number = number_in(kernel.arguments, parameter))
      step.numbers.push_back({i, *number});
    for (std::uint32_t inside = 0; inside + 8 <= parameter.bytes; inside += 8) {
      if (parameter.offset + inside + 8 > kernel.arguments.size()) break;
      std::uint64_t word = 0;
      std::memcpy(&word, kernel.arguments.data() + parameter.offset + inside, sizeof word);
      if (!vgpu::is_mapped_region(word) || !memory_->valid(word, 1)) continue;
      const std::uint64_t address = memory_->canonical(word);
      const Place place = place_of(address);
      if (place.buffer != 0)
        step.pointers.push_back({i, inside, place.buffer, address - place.begin});
    }
  }
  const std::uint64_t blocks = std::uint64_t{step.grid[0]} * step.grid[1] * step.grid[2];
  step.is_dropped = blocks > kMostBlocks;
  if (!step.is_dropped) running.blocks.resize(blocks);
}

void BlockTrace::add(const Work& work, const MovedBytes& moved) {
  TracedStep step;
  step.kind = moved.kind;
  step.name = moved.name;
  step.order = work.order;
  step.device = moved.device;
  step.stream = work.stream;
  step.started_ps = moved.started;
  step.finished_ps = moved.finished;
  last_place_ = {};
  step.read = parts_of(moved.read);
  step.written = parts_of(moved.written);
  push(std::move(step));
}

void BlockTrace::push(TracedStep step) {
  if (record_.steps.size() >= kMostSteps) {
    ++record_.dropped_steps;
  } else {
    record_.steps.push_back(std::move(step));
  }
}

void BlockTrace::forget() {
  record_.steps.clear();
  record_.maps.clear();
  record_.dropped_steps = 0;
  record_.unnamed_bytes = 0;
  known_maps_.clear();
  kept_rows_ = 0;
}

BlockTrace::Running* BlockTrace::running(const vgpu::Warp& warp) {
  if (warp.grid == last_grid_) return last_running_;
  const auto found = running_.find({warp.grid->device, warp.grid->id});
  last_grid_ = warp.grid;
  last_running_ =
      found == running_.end() || found->second.blocks.empty() ? nullptr : &found->second;
  return last_running_;
}

BlockTrace::Gathered& BlockTrace::gathered(Running& grid,
                                           std::uint64_t block,
                                           std::uint64_t buffer) {
  auto& list = grid.blocks[block];
  for (Gathered& one : list) {
    if (one.buffer == buffer) return one;
  }
  list.push_back({buffer, {}, {}});
  return list.back();
}

void BlockTrace::note_time(
    Running& grid, const Place& place, bool reads, bool writes, ByteRange range, VTime at) {
  ChunkTimes& times = grid.times[place.buffer];
  if (times.first_read.empty()) {
    times.bytes = (place.end - place.begin + ChunkTimes::kCount - 1) / ChunkTimes::kCount;
    times.first_read.assign(ChunkTimes::kCount, kNoTime);
    times.last_write.assign(ChunkTimes::kCount, kNoTime);
  }
  for (std::size_t i = range.begin / times.bytes; i <= (range.end - 1) / times.bytes; ++i) {
    if (reads) times.first_read[i] = std::min(times.first_read[i], at);
    if (writes && (times.last_write[i] == kNoTime || times.last_write[i] < at))
      times.last_write[i] = at;
  }
}

void BlockTrace::note(
    Running& grid, const vgpu::Warp& warp, bool reads, bool writes, ByteRange range) {
  while (range.begin < range.end) {
    const Place& place = place_of(range.begin);
    const std::uint64_t end = std::min(range.end, place.end);
    if (place.buffer == 0) {
      // Nobody's from here on, as far as is known: a module's variable, the heap.
      record_.unnamed_bytes += range.end - range.begin;
      return;
    }
    const ByteRange inside{range.begin - place.begin, end - place.begin};
    Gathered& one = gathered(grid, warp.block->number, place.buffer);
    if (reads) one.read.add(inside.begin, inside.end);
    if (writes) one.written.add(inside.begin, inside.end);
    note_time(grid, place, reads, writes, inside, warp.clock);
    range.begin = end;
  }
}

void BlockTrace::on_access(const vgpu::Warp& warp,
                           const vgpu::Op& /*op*/,
                           const vgpu::AccessEvent& event) {
  if (event.space != ptx::Space::Global) return;
  Running* grid = running(warp);
  if (grid == nullptr) return;
  const bool reads = event.kind != vgpu::AccessKind::Store;
  const bool writes = event.kind != vgpu::AccessKind::Load;
  // Neighbouring lanes mostly touch neighbouring bytes.
  ByteRange open;
  vgpu::for_active(event.lanes, [&](unsigned lane) {
    const std::uint64_t begin = event.addresses[lane];
    const std::uint64_t end = begin + event.bytes;
    if (begin >= open.begin && begin <= open.end) {
      open.end = std::max(open.end, end);
      return;
    }
    note(*grid, warp, reads, writes, open);
    open = {begin, end};
  });
  note(*grid, warp, reads, writes, open);
}

void BlockTrace::on_rows(const vgpu::Warp& warp, std::span<const vgpu::RowEvent> rows) {
  for (const vgpu::RowEvent& row : rows) {
    if (row.space != ptx::Space::Global) continue;
    Running* grid = running(warp);
    if (grid == nullptr) return;
    const std::uint64_t bytes = row.same ? row.bytes : std::uint64_t{row.bytes} * vgpu::kLanes;
    note(*grid, warp, row.kind != vgpu::AccessKind::Store, row.kind != vgpu::AccessKind::Load,
         {row.first, row.first + bytes});
  }
}

std::size_t BlockTrace::keep(BlockMap map) {
  const std::uint64_t hash = hash_of(map);
  const auto [first, last] = known_maps_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    if (record_.maps[known->second] == map) return known->second;
  }
  kept_rows_ += rows_in(map);
  known_maps_.emplace(hash, record_.maps.size());
  record_.maps.push_back(std::move(map));
  return record_.maps.size() - 1;
}

bool BlockTrace::keep_maps(Running& grid) {
  std::map<std::uint64_t, std::pair<BlockMap, bool>> maps;  // By buffer; whether it is exact.
  for (std::size_t block = 0; block < grid.blocks.size(); ++block) {
    for (Gathered& one : grid.blocks[block]) {
      auto [found, is_new] = maps.try_emplace(one.buffer, BlockMap(), true);
      auto& [map, is_exact] = found->second;
      if (is_new) map.resize(grid.blocks.size());
      map[block].read = as_rows(one.read.take());
      map[block].written = as_rows(one.written.take());
      is_exact = is_exact && one.read.is_exact() && one.written.is_exact();
    }
  }
  for (auto& [buffer, made] : maps) {
    auto& [map, is_exact] = made;
    if (kept_rows_ + rows_in(map) > kMostRows) return false;
    grid.step.touched.push_back(
        {buffer, keep(std::move(map)), is_exact, std::move(grid.times[buffer])});
  }
  return true;
}

void BlockTrace::on_grid_end(const vgpu::Grid& grid) {
  last_grid_ = nullptr;
  last_running_ = nullptr;
  const auto found = running_.find({grid.device, grid.id});
  if (found == running_.end()) return;
  Running& running = found->second;
  running.step.started_ps = grid.start;
  running.step.finished_ps = grid.finish;
  if (!running.step.is_dropped && !keep_maps(running)) {
    running.step.touched.clear();
    running.step.is_dropped = true;
  }
  push(std::move(running.step));
  running_.erase(found);
}

}  // namespace cuco::vcluster

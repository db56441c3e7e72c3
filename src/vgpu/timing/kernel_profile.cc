// SPDX-License-Identifier: Apache-2.0
#include "vgpu/timing/kernel_profile.h"

#include <algorithm>
#include <bit>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/lower/code.h"

namespace cuco::vgpu {

namespace {

std::uint64_t count_sectors(const AccessEvent& event) {
  std::array<Address, 2 * kLanes * 2> sectors;
  std::size_t count = 0;
  for_active(event.lanes, [&](unsigned l) {
    const Address first = event.addresses[l] >> 5U;
    const Address last = (event.addresses[l] + event.bytes - 1) >> 5U;
    for (Address sector = first; sector <= last && count < sectors.size(); ++sector)
      sectors[count++] = sector;
  });
  // Lanes mostly go upwards.
  if (!std::is_sorted(sectors.begin(), sectors.begin() + count))
    std::sort(sectors.begin(), sectors.begin() + count);
  return static_cast<std::uint64_t>(std::unique(sectors.begin(), sectors.begin() + count) -
                                    sectors.begin());
}

/// Words that the banks of shared memory have to give, each once.
class BankWords {
 public:
  void add(Address word) {
    const auto bank = static_cast<unsigned>(word & 31U);
    for (unsigned at = last_[bank]; at != kNone; at = before_[at]) {
      if (words_[at] == word) return;
    }
    words_[count_] = word;
    before_[count_] = last_[bank];
    last_[bank] = static_cast<std::uint8_t>(count_++);
    worst_ = std::max<std::uint64_t>(worst_, ++of_bank_[bank]);
  }
  /// Of one bank, the most.
  [[nodiscard]] std::uint64_t worst() const { return worst_; }

 private:
  static constexpr std::uint8_t kNone = 0xFF;
  static constexpr std::array<std::uint8_t, 32> kAllNone = [] {
    std::array<std::uint8_t, 32> all{};
    all.fill(kNone);
    return all;
  }();
  unsigned count_ = 0;
  std::uint64_t worst_ = 0;
  std::array<std::uint8_t, 32> last_ = kAllNone;  ///< By bank, into words_.
  std::array<std::uint8_t, 32> of_bank_{};
  static constexpr std::size_t kMost = 64;  ///< 128 bytes, and some that begin within a word.
  std::array<std::uint8_t, kMost> before_;  ///< Of the same bank.
  std::array<Address, kMost> words_;
};

/// Passes of shared memory: 128 bytes a pass, one word a bank. As exec_access.cc charges them.
std::uint64_t count_passes(const AccessEvent& event) {
  // More than a pass for each lane: neighbouring words take all banks in turn.
  if (event.bytes > 128)
    return static_cast<std::uint64_t>(std::popcount(event.lanes)) * ((event.bytes + 127) / 128);
  const unsigned group = event.bytes <= 4 ? kLanes : std::max(128 / event.bytes, 1U);
  std::uint64_t passes = 0;
  for (unsigned start = 0; start < kLanes; start += group) {
    BankWords words;
    for (unsigned l = start; l < std::min(start + group, kLanes); ++l) {
      if ((event.lanes >> l & 1U) == 0) continue;
      for (std::uint32_t b = 0; b < event.bytes; b += 4)
        words.add((event.addresses[l] + b) >> 2U);
    }
    passes += words.worst();
  }
  return passes;
}

void note_poll(Phase::Wait& wait, const AccessEvent& event, VTime now) {
  ++wait.polls;
  wait.first = std::min(wait.first, now);
  wait.last = std::max(wait.last, now);
  for_active(event.lanes, [&](unsigned l) {
    if (wait.addresses.size() >= kPolledAddresses) return;
    if (std::ranges::find(wait.addresses, event.addresses[l]) == wait.addresses.end()) {
      wait.addresses.push_back(event.addresses[l]);
    }
  });
}

void add(Counters& sum, const Counters& more) {
  for (std::size_t i = 0; i < kCostClasses; ++i) {
    sum.threads[i] += more.threads[i];
    sum.warps[i] += more.warps[i];
  }
  sum.thread_instructions += more.thread_instructions;
  sum.warp_instructions += more.warp_instructions;
  sum.global_loads += more.global_loads;
  sum.global_stores += more.global_stores;
  sum.sectors += more.sectors;
  sum.l1_hits += more.l1_hits;
  sum.l2_hits += more.l2_hits;
  sum.hbm_bytes += more.hbm_bytes;
  sum.bank_conflicts += more.bank_conflicts;
  sum.divergent_branches += more.divergent_branches;
  sum.barriers += more.barriers;
  sum.atomics += more.atomics;
  sum.parks += more.parks;
  sum.waiting += more.waiting;
  sum.blocks += more.blocks;
}

}  // namespace

ProfiledLine line_of(const Kernel& kernel, const Op& op) {
  const ptx::Instruction& instruction = *kernel.origins[op.source].instruction;
  const ptx::SourceLine& line =
      instruction.source.file == instruction.caller.file ? instruction.source : instruction.caller;
  const auto& files = kernel.module->files;
  if (line.line == 0 || line.file >= files.size()) return {"", 0};
  return {files[line.file], line.line};
}

void LineProfile::add(const LineProfile& other) {
  threads += other.threads;
  warps += other.warps;
  for (std::size_t i = 0; i < kCostClasses; ++i)
    by_class[i] += other.by_class[i];
  global_accesses += other.global_accesses;
  global_bytes += other.global_bytes;
  sectors += other.sectors;
  ideal_sectors += other.ideal_sectors;
  shared_accesses += other.shared_accesses;
  bank_conflicts += other.bank_conflicts;
  barriers += other.barriers;
  load_wait += other.load_wait;
  poll_wait += other.poll_wait;
  barrier_wait += other.barrier_wait;
}

Profiler::Running& Profiler::running(const Warp& warp) {
  if (warp.grid == last_grid_) return *last_;
  Running& grid = running_[warp.grid];
  if (grid.ops.empty()) {
    grid.ops.resize(warp.kernel->ops.size());
    grid.waits.resize(warp.kernel->ops.size());
  }
  last_grid_ = warp.grid;
  last_ = &grid;
  return grid;
}

LineProfile& Profiler::at(const Warp& warp, const Op& op) {
  // Some handlers report a copy of their op; its origin leads back to the place.
  const Op* first = warp.kernel->ops.data();
  const bool own = &op >= first && &op < first + warp.kernel->ops.size();
  return running(warp).ops[own ? static_cast<std::size_t>(&op - first) : op.source];
}

void Profiler::note_time(const Warp& warp, VTime from, VTime to) {
  Running& grid = running(warp);
  const std::uint64_t block = warp.block->number;
  Running::Span& span = grid.spans.try_emplace(&warp, Running::Span{block, from, to}).first->second;
  if (span.block != block) {
    grid.ended += span.last - span.first;
    span = {block, from, to};
  }
  span.last = std::max(span.last, to);
}

void Profiler::on_access(const Warp& warp, const Op& op, const AccessEvent& event) {
  LineProfile& line = at(warp, op);
  note_time(warp, warp.clock, warp.clock);
  if (event.space == ptx::Space::Shared) {
    ++line.shared_accesses;
    const std::uint64_t needed = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::popcount(event.lanes)) * event.bytes / 128);
    const std::uint64_t passes = count_passes(event);
    if (passes > needed) line.bank_conflicts += passes - needed;
    return;
  }
  if (event.space != ptx::Space::Global) return;
  const auto bytes = static_cast<std::uint64_t>(std::popcount(event.lanes)) * event.bytes;
  const std::uint64_t sectors = count_sectors(event);
  ++line.global_accesses;
  line.global_bytes += bytes;
  line.sectors += sectors;
  line.ideal_sectors += std::min(sectors, (bytes + 31) / 32);
  if (event.kind != AccessKind::Store && is_strong(event.order)) {
    const auto index = static_cast<std::size_t>(&op - warp.kernel->ops.data());
    if (index >= warp.kernel->ops.size()) return;
    note_poll(running(warp).waits[index], event, warp.clock);
    if (demands_) demands_->look(warp, op, event);
  }
}

void Profiler::on_barrier_arrive(const Warp& warp,
                                 const Op& op,
                                 unsigned /*id*/,
                                 std::uint32_t /*lanes*/) {
  ++at(warp, op).barriers;
}

void Profiler::on_wait(const Warp& warp, const Op& op, WaitKind kind, VTime from, VTime to) {
  LineProfile& line = at(warp, op);
  const VTime waited = std::max<VTime>(to - from, 0);
  note_time(warp, from, from + waited);
  switch (kind) {
    case WaitKind::Load:
      line.load_wait += waited;
      break;
    case WaitKind::Poll:
      line.poll_wait += waited;
      running(warp).waits[static_cast<std::size_t>(&op - warp.kernel->ops.data())].waited += waited;
      break;
    case WaitKind::Barrier:
      line.barrier_wait += waited;
      break;
  }
}

void Profiler::on_grid_end(const Grid& grid) {
  const Kernel& kernel = *grid.kernel;
  KernelProfile& profile = kernels_[kernel.info.name];
  ++profile.launches;
  profile.time += grid.finish - grid.start;
  add(profile.counters, grid.counters);
  Phase phase{.kernel = kernel.info.name,
              .device = grid.device,
              .started = grid.start,
              .finished = grid.finish};
  const auto found = running_.find(&grid);
  std::int64_t threads = 0;
  std::int64_t warps = 0;
  for (std::size_t i = 0; i < kernel.ops.size(); ++i) {
    threads += grid.counts[i].threads;
    warps += grid.counts[i].warps;
    LineProfile line;
    if (found != running_.end()) line = found->second.ops[i];
    if (warps == 0 && line.global_accesses + line.shared_accesses == 0) continue;
    line.threads = static_cast<std::uint64_t>(threads);
    line.warps = static_cast<std::uint64_t>(warps);
    line.by_class[static_cast<std::size_t>(kernel.ops[i].cost)] = line.warps;
    phase.load_wait += line.load_wait;
    phase.poll_wait += line.poll_wait;
    phase.barrier_wait += line.barrier_wait;
    const ProfiledLine where = line_of(kernel, kernel.ops[i]);
    profile.lines[where].add(line);
    if (found == running_.end() || found->second.waits[i].polls == 0) continue;
    Phase::Wait& wait = phase.waits[where];
    wait.polls += found->second.waits[i].polls;
    wait.waited += found->second.waits[i].waited;
    wait.first = std::min(wait.first, found->second.waits[i].first);
    wait.last = std::max(wait.last, found->second.waits[i].last);
    const auto& polled = found->second.waits[i].addresses;
    wait.addresses.insert(wait.addresses.end(), polled.begin(), polled.end());
    if (demands_) wait.repeated.add(demands_->end(grid, static_cast<std::uint32_t>(i)));
  }
  if (found != running_.end()) {
    phase.warp_time = found->second.ended;
    for (const auto& [warp, span] : found->second.spans)
      phase.warp_time += span.last - span.first;
  }
  phases_.push_back(std::move(phase));
  if (found == running_.end()) return;
  running_.erase(found);
  last_grid_ = nullptr;
}

}  // namespace cuco::vgpu

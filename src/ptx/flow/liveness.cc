// SPDX-License-Identifier: Apache-2.0
// Backward data flow over basic blocks, then one interval per register over the text, then a linear
// scan. Intervals ignore the holes of a live range; in exchange the scan is optimal for them and
// runs in n log n.
//
// Most registers of nvcc's code live and die in one block. They need no data flow, so the bit sets
// hold only the others.
#include "ptx/flow/liveness.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <queue>

#include "ptx/flow/register_access.h"

namespace cuco::ptx {
namespace {

constexpr std::uint32_t kLocal = UINT32_MAX;
/// Bits of all sets together; beyond it (no real kernel comes near) everything is live everywhere.
constexpr std::uint64_t kMaxBits = std::uint64_t{1} << 30U;
constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 30U;

using Words = std::vector<std::uint64_t>;

/// Live intervals by backward data flow. Most registers of real kernels live inside one block; only
/// those that cross blocks get a bit in the sets, which keeps these small.
class Liveness {
 public:
  explicit Liveness(const Function& function)
      : function_(function), flow_(control_flow(function)), intervals_(function.registers.size()) {}

  std::vector<LiveInterval> solve() {
    keep_signature();
    find_own_extents();
    number_crossing_registers();
    if (crossing_.empty()) return std::move(intervals_);
    words_ = (crossing_.size() + 63) / 64;
    if (std::uint64_t{words_} * 64 * 4 * flow_.blocks.size() > kMaxBits) return give_up();
    summarise_blocks();
    if (!iterate()) return give_up();
    extend_over_blocks();
    return std::move(intervals_);
  }

 private:
  void touch(std::uint32_t reg, std::uint32_t at) {
    LiveInterval& interval = intervals_[reg];
    if (interval.is_empty()) {
      interval = {at, at};
    } else {
      interval.first = std::min(interval.first, at);
      interval.last = std::max(interval.last, at);
    }
  }

  /// Parameters and results in registers, which come first, belong to the caller too.
  void keep_signature() {
    std::uint32_t reg = 0;
    for (const auto* list : {&function_.returns, &function_.parameters}) {
      for (const Variable& variable : *list) {
        if (variable.space != Space::Reg) continue;
        touch(reg, 0);
        touch(reg++, static_cast<std::uint32_t>(function_.instructions.size() - 1));
      }
    }
  }

  /// First and last mention, and whether a register is seen in one block only, written first.
  void find_own_extents() {
    home_.assign(function_.registers.size(), kNoBlock);
    crosses_.assign(function_.registers.size(), false);
    RegisterAccess access;
    for (std::uint32_t i = 0; i < function_.instructions.size(); ++i) {
      find_access(function_, function_.instructions[i], access);
      for (const std::uint32_t reg : access.reads)
        visit(reg, i, false, access);
      for (const std::uint32_t reg : access.writes)
        visit(reg, i, access.kills, access);
    }
  }

  /// A register whose first mention does not kill it may hold a value from before: it crosses.
  void visit(std::uint32_t reg, std::uint32_t at, bool kills, const RegisterAccess& access) {
    const std::uint32_t block = flow_.block_of[at];
    if (home_[reg] == kNoBlock) {
      home_[reg] = block;
      crosses_[reg] = !kills;
    } else if (home_[reg] != block) {
      crosses_[reg] = true;
    }
    touch(reg, at);
    // The write may come at any later time, so the register is never free.
    if (access.is_asynchronous) {
      touch(reg, 0);
      touch(reg, static_cast<std::uint32_t>(function_.instructions.size() - 1));
    }
  }

  void number_crossing_registers() {
    bit_.assign(function_.registers.size(), kLocal);
    for (std::uint32_t reg = 0; reg < crosses_.size(); ++reg) {
      if (!crosses_[reg]) continue;
      bit_[reg] = static_cast<std::uint32_t>(crossing_.size());
      crossing_.push_back(reg);
    }
  }

  std::vector<LiveInterval> give_up() {
    const auto last = static_cast<std::uint32_t>(function_.instructions.size() - 1);
    for (const std::uint32_t reg : crossing_)
      intervals_[reg] = {0, last};
    return std::move(intervals_);
  }

  /// wanted: read before it is killed in the block; killed: old value gone at the end of it.
  void summarise_blocks() {
    const std::size_t all = words_ * flow_.blocks.size();
    wanted_.assign(all, 0);
    killed_.assign(all, 0);
    live_in_.assign(all, 0);
    live_out_.assign(all, 0);
    RegisterAccess access;
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
      std::uint64_t* wanted = &wanted_[b * words_];
      std::uint64_t* killed = &killed_[b * words_];
      for (std::uint32_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; ++i) {
        find_access(function_, function_.instructions[i], access);
        for (const std::uint32_t reg : access.reads) {
          const std::uint32_t bit = bit_[reg];
          if (bit != kLocal && !test(killed, bit)) set(wanted, bit);
        }
        if (!access.kills) continue;
        for (const std::uint32_t reg : access.writes) {
          if (bit_[reg] != kLocal) set(killed, bit_[reg]);
        }
      }
    }
  }

  /// To the fixed point; false if that takes unreasonably long.
  bool iterate() {
    std::vector<std::vector<std::uint32_t>> predecessors(flow_.blocks.size());
    for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) {
      for (const std::uint32_t s : flow_.blocks[b].successors)
        predecessors[s].push_back(b);
    }
    // Last block first: most edges go forward, so most sets are right the first time.
    std::vector<std::uint32_t> work(flow_.blocks.size());
    std::iota(work.begin(), work.end(), 0);
    std::vector<bool> queued(flow_.blocks.size(), true);
    std::uint64_t steps = 0;
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      queued[b] = false;
      steps += words_ * (1 + flow_.blocks[b].successors.size());
      if (steps > kMaxSteps) return false;
      if (!update(b)) continue;
      for (const std::uint32_t p : predecessors[b]) {
        if (!queued[p]) work.push_back(p);
        queued[p] = true;
      }
    }
    return true;
  }

  /// in = wanted or (out and not killed), out = union of the successors' in.
  bool update(std::uint32_t b) {
    bool changed = false;
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t out = 0;
      for (const std::uint32_t s : flow_.blocks[b].successors)
        out |= live_in_[s * words_ + w];
      const std::size_t at = b * words_ + w;
      const std::uint64_t in = wanted_[at] | (out & ~killed_[at]);
      changed |= in != live_in_[at];
      live_in_[at] = in;
      live_out_[at] = out;
    }
    return changed;
  }

  /// An interval has no holes: live at both ends of a block means live all through it.
  void extend_over_blocks() {
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
      for (std::size_t w = 0; w < words_; ++w) {
        touch_all(live_in_[b * words_ + w], w, flow_.blocks[b].begin);
        touch_all(live_out_[b * words_ + w], w, flow_.blocks[b].end - 1);
      }
    }
  }

  void touch_all(std::uint64_t bits, std::size_t word, std::uint32_t at) {
    for (; bits != 0; bits &= bits - 1) {
      touch(crossing_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))], at);
    }
  }

  static bool test(const std::uint64_t* words, std::uint32_t bit) {
    return (words[bit / 64] >> (bit % 64) & 1U) != 0;
  }
  static void set(std::uint64_t* words, std::uint32_t bit) {
    words[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }

  const Function& function_;
  ControlFlow flow_;
  std::vector<LiveInterval> intervals_;
  std::vector<std::uint32_t> home_;  ///< Block in which a register was first seen.
  std::vector<bool> crosses_;
  std::vector<std::uint32_t> bit_;       ///< By register: its bit, or kLocal.
  std::vector<std::uint32_t> crossing_;  ///< By bit: its register.
  std::size_t words_ = 0;
  Words wanted_, killed_, live_in_, live_out_;  ///< [block][word]
};

/// Gives registers of one class slots, in the order in which their intervals begin.
class LinearScan {
 public:
  std::uint32_t place(const LiveInterval& interval) {
    while (!busy_.empty() && busy_.top().first < interval.first) {
      free_.push_back(busy_.top().second);
      busy_.pop();
    }
    std::uint32_t slot = count_;
    if (free_.empty()) {
      ++count_;
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    busy_.emplace(interval.last, slot);
    return slot;
  }

  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  using Busy = std::pair<std::uint32_t, std::uint32_t>;  ///< (last instruction, slot)
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
  std::vector<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

}  // namespace

RegisterClass class_of(Type type) {
  if (type == Type::Pred) return RegisterClass::Pred;
  const std::uint32_t bytes = size_of(type);
  if (bytes <= 4) return RegisterClass::B32;
  return bytes == 8 ? RegisterClass::B64 : RegisterClass::B128;
}

std::vector<LiveInterval> live_intervals(const Function& function) {
  if (function.instructions.empty()) return std::vector<LiveInterval>(function.registers.size());
  return Liveness(function).solve();
}

RegisterPlan plan_registers(const Function& function) {
  std::vector<LiveInterval> intervals = live_intervals(function);
  std::vector<std::uint32_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return intervals[a].first < intervals[b].first;
  });
  RegisterPlan plan;
  plan.places.resize(intervals.size());
  std::array<LinearScan, kRegisterClasses> scans;
  for (const std::uint32_t reg : order) {
    const RegisterClass kind = class_of(function.registers[reg].type);
    const auto index = static_cast<std::size_t>(kind);
    plan.places[reg].kind = kind;
    // Registers that nobody names share slot 0, which must exist.
    plan.slots[index] = std::max(plan.slots[index], 1U);
    if (!intervals[reg].is_empty()) plan.places[reg].slot = scans[index].place(intervals[reg]);
  }
  for (std::size_t i = 0; i < kRegisterClasses; ++i) {
    plan.slots[i] = std::max(plan.slots[i], scans[i].count());
  }
  plan.intervals = std::move(intervals);
  return plan;
}

}  // namespace cuco::ptx

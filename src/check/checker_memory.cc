// SPDX-License-Identifier: Apache-2.0
// Bounds, freed and uninitialised memory, leaks, and kernels that were stopped.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "check/block_state.h"
#include "check/checker.h"
#include "check/entry.h"
#include "check/spelling.h"
#include "vgpu/lower/code.h"

namespace cuco::check {
namespace {

constexpr const char* kOutsideHint =
    "stay inside of the window, and inside of the team that shares memory";

}  // namespace

bool Checker::knows_allocation(Address address) {
  if (memory_.find(address) != nullptr) return true;
  const auto found = lookup_ ? lookup_(address) : std::nullopt;
  // The server rounds sizes up: what it knows beyond the end of an allocation is not in it.
  if (!found || memory_.find(found->base) != nullptr) return false;
  // Variables of modules, launches' own memory: there from the start, and nobody's to free.
  memory_.allocate(
      found->base, found->bytes,
      {.what = "memory of a module or of the runtime", .written = true, .internal = true});
  return true;
}

void Checker::check_memory(const vgpu::Warp& warp,
                           const vgpu::Op& op,
                           const vgpu::AccessEvent& event) {
  const bool reads = event.kind != AccessKind::Store;
  const bool writes = event.kind != AccessKind::Load;
  // Neighbouring lanes mostly touch neighbouring bytes: one question for each run of them.
  std::uint32_t rest = event.lanes;
  while (rest != 0) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Address begin = event.addresses[lane];
    Address end = begin + event.bytes;
    rest &= rest - 1;
    while (rest != 0) {
      const Address next = event.addresses[static_cast<unsigned>(std::countr_zero(rest))];
      if (next != end && next != begin) break;
      if (next == end) end += event.bytes;
      rest &= rest - 1;
    }
    auto problem = memory_.check(begin, end - begin, reads);
    if (problem && problem->kind == MemoryProblem::Kind::OutOfBounds &&
        knows_allocation(problem->address)) {
      problem = memory_.check(begin, end - begin, reads);
    }
    // A misaligned access is reported as that, and not made.
    if (problem && problem->kind == MemoryProblem::Kind::OutOfBounds && begin % event.bytes != 0) {
      continue;
    }
    if (problem) {
      const auto offset = problem->address >= begin ? (problem->address - begin) / event.bytes : 0;
      report_memory(warp, op, event, std::min(lane + static_cast<unsigned>(offset), 31U), *problem);
      if (problem->kind == MemoryProblem::Kind::Uninitialised)
        memory_.mark_written(begin, end - begin);
    }
    if (writes) memory_.mark_written(begin, end - begin);
  }
}

void Checker::report_memory(const vgpu::Warp& warp,
                            const vgpu::Op& op,
                            const vgpu::AccessEvent& event,
                            unsigned lane,
                            const MemoryProblem& problem) {
  const std::uint32_t site = site_of(warp, op, event.kind, event.bytes);
  const std::uint64_t key =
      std::uint64_t{site} << 32U | 0xFFFF0000U | static_cast<unsigned>(problem.kind);
  if (const auto known = reported_.find(key); known != reported_.end()) {
    return findings_.count(known->second);
  }
  Finding finding;
  finding.where = describe(site, state_of(warp).first + warp.index, lane);
  finding.address = problem.address;
  locate(finding, problem.address);
  const std::string access = verb(event.kind, event.bytes);
  switch (problem.kind) {
    case MemoryProblem::Kind::OutOfBounds:
      finding.kind = Kind::OutOfBounds;
      finding.message = fmt::format("{}, {}", access, problem.detail);
      finding.hint = "check the index against the size of the allocation";
      break;
    case MemoryProblem::Kind::Freed: {
      finding.kind = Kind::UseAfterFree;
      finding.message = fmt::format("{} in memory that was {}", access, problem.detail);
      finding.hint = "free it only after the work that uses it is done";
      const MemoryState::Block* block = memory_.find(problem.address);
      if (block != nullptr && !block->freed_at.module.empty()) {
        finding.other = block->freed_at;
        finding.other->what = "free";
      }
      break;
    }
    case MemoryProblem::Kind::Uninitialised:
      finding.kind = Kind::Uninitialised;
      finding.message = fmt::format("{}: {}", access, problem.detail);
      finding.hint = "initialise it (cudaMemset, cudaMemcpy) or write it before";
      break;
  }
  if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
}

void Checker::check_bounds(WorkId id, Address address, std::uint64_t bytes) {
  const auto found = works_.find(id);
  if (found != works_.end() && options_.memory) {
    check_bounds(found->second, address, bytes, AccessKind::Load);
  }
}

void Checker::check_bounds(const Work& work,
                           Address address,
                           std::uint64_t bytes,
                           AccessKind kind) {
  if (!knows_allocation(address) && memory_.nearest(address) == nullptr) return;
  const auto problem = memory_.check(address, bytes, false);
  if (!problem) return;
  Finding finding;
  finding.where = describe(work.site, work.actor, 0);
  finding.address = problem->address;
  locate(finding, problem->address);
  const char* verb = kind == AccessKind::Load ? "reads" : "writes";
  if (problem->kind == MemoryProblem::Kind::Freed) {
    finding.kind = Kind::UseAfterFree;
    finding.message =
        fmt::format("{} {} memory that was {}", work.info.what, verb, problem->detail);
    finding.hint = "free it only after the work that uses it is done";
    const MemoryState::Block* block = memory_.find(problem->address);
    if (block != nullptr && !block->freed_at.module.empty()) {
      finding.other = block->freed_at;
      finding.other->what = "free";
    }
  } else {
    finding.kind = Kind::OutOfBounds;
    finding.message = fmt::format("{} {} {}", work.info.what, verb, problem->detail);
    // A range that begins inside: what it is and by how much it is too long.
    if (const MemoryState::Block* block = memory_.find(address)) {
      const bool is_collective = work.info.what.starts_with("nccl");
      finding.message = fmt::format(
          "{} {} {} bytes{} at offset {} of {} bytes: {} too many", work.info.what, verb, bytes,
          !is_collective             ? ""
          : kind == AccessKind::Load ? " of its send buffer"
                                     : " of its receive buffer",
          address - block->base, block->bytes, address + bytes - block->base - block->bytes);
    }
    finding.hint = "check the number of bytes against the size of the allocation";
  }
  findings_.add(std::move(finding));
}

void Checker::read_out(WorkId id, Address address, std::uint64_t bytes) {
  read(id, address, bytes);
  const auto found = works_.find(id);
  if (found == works_.end() || bytes == 0 || !options_.memory || !knows_allocation(address)) return;
  const auto problem = memory_.check(address, bytes, true);
  if (!problem || problem->kind != MemoryProblem::Kind::Uninitialised) return;
  if (memory_.is_padding(address, bytes)) return memory_.mark_written(address, bytes);
  Finding finding;
  finding.kind = Kind::Uninitialised;
  finding.where = describe(found->second.site, found->second.actor, 0);
  finding.address = problem->address;
  locate(finding, problem->address);
  finding.message = fmt::format("{} takes bytes to the host that nothing has written: {}",
                                found->second.info.what, problem->detail);
  finding.hint = "write all of it before, or copy only what was written";
  findings_.add(std::move(finding));
  memory_.mark_written(address, bytes);
}

void Checker::on_trap(const vgpu::Trap& trap, int rank, const std::string& note) {
  // What it leaves allocated is not its fault any more.
  was_stopped_ = true;
  if (trap.kind == vgpu::TrapKind::IllegalAddress) {
    const auto& known = findings_.all();
    const auto told = std::ranges::find_if(known, [&](const Finding& one) {
      return (one.kind == Kind::OutOfBounds || one.kind == Kind::UseAfterFree) &&
             one.where.file == trap.source_file &&
             one.where.line == static_cast<int>(trap.source_line);
    });
    if (told != known.end()) {
      if (note.empty()) return;
      Finding& mine = findings_.at(static_cast<std::size_t>(told - known.begin()));
      mine.kind = Kind::OutsideWindow;
      mine.notes.push_back(note);
      mine.hint = kOutsideHint;
      return;
    }
  }
  Finding finding;
  finding.where.file = trap.source_file;
  finding.where.line = trap.source_line == 0 ? -1 : static_cast<int>(trap.source_line);
  finding.where.kernel = demangle(trap.kernel);
  finding.where.rank = rank;
  finding.where.block = coordinates(trap.block);
  finding.where.thread = coordinates(trap.thread);
  finding.where.what = "trap";
  finding.address = trap.address;
  finding.message = trap.message;
  switch (trap.kind) {
    case vgpu::TrapKind::IllegalAddress: {
      const MemoryState::Block* block = memory_.find(trap.address);
      finding.kind = block != nullptr && block->freed ? Kind::UseAfterFree : Kind::OutOfBounds;
      finding.hint = finding.kind == Kind::UseAfterFree
                         ? "free it only after the work that uses it is done"
                         : "check the address, and the index against the size of the allocation";
      if (finding.kind == Kind::UseAfterFree && !block->freed_at.module.empty()) {
        finding.other = block->freed_at;
        finding.other->what = "free";
      }
      locate(finding, trap.address);
      if (!note.empty()) {
        finding.kind = Kind::OutsideWindow;
        finding.notes.push_back(note);
        finding.hint = kOutsideHint;
      }
      if (const std::string what = communication_.describe(trap.address); !what.empty()) {
        finding.notes.push_back("the address is in " + what);
      }
      break;
    }
    case vgpu::TrapKind::Misaligned:
      finding.kind = Kind::Misaligned;
      finding.hint =
          "the address must be a multiple of the access's size (vector types: of the "
          "whole vector)";
      locate(finding, trap.address);
      break;
    case vgpu::TrapKind::IllegalInstruction:
      if (trap.message.find("mask") != std::string::npos) {
        finding.kind = Kind::InvalidMask;
        finding.hint = "name in the mask exactly the lanes that reach the call";
        break;
      }
      if (trap.message.find("barrier") != std::string::npos) {
        finding.kind = Kind::BarrierMismatch;
        finding.hint =
            "every thread of a barrier must name the same number of threads, a multiple "
            "of 32";
        break;
      }
      return;
    default:
      return;  // Assertions and the like speak for themselves.
  }
  findings_.add(std::move(finding));
}

void Checker::report_leak(Address base) {
  const MemoryState::Block* block = memory_.find(base);
  if (was_stopped_ || block == nullptr || block->freed || block->info.internal ||
      block->info.what.starts_with(kVariable)) {
    return;
  }
  Finding finding;
  finding.kind = Kind::Leak;
  finding.where = block->info.made;
  finding.where.rank = block->info.rank;
  finding.where.what = block->info.what;
  finding.address = block->base;
  finding.message = fmt::format("{} bytes were not freed", block->bytes);
  finding.allocation = MemoryState::describe(*block);
  finding.hint = "free it before the program ends";
  findings_.add(std::move(finding));
}

void Checker::report_leaks() {
  for (const MemoryState::Block* block : memory_.live())
    report_leak(block->base);
}

void Checker::expect_untouched(Address address, std::uint64_t bytes) {
  if (!options_.global_races) return;
  std::uint32_t fine = ~0U;  // the place of the last write that was nobody's fault
  for (Address word = address & ~Address{3}; word < address + bytes; word += 4) {
    const Stamp last = races_.last_write(word);
    if (last.actor == kNoActor || last.site == fine) continue;
    const std::string& what = sites_[last.site].place.what;
    if (what == kEntry || what == kEnd) {
      fine = last.site;
      continue;
    }
    const std::uint64_t key = std::uint64_t{sites_[last.site].line} << 32U | 0xFFF00000U;
    if (const auto known = reported_.find(key); known != reported_.end())
      return findings_.count(known->second);
    Finding finding;
    finding.kind = Kind::OutOfBounds;
    finding.where = describe(last.site, last.actor, last.lane);
    finding.address = word;
    locate(finding, word);
    finding.message =
        "a write to a buffer that this call of cuco_run may not write: an input, or a buffer of "
        "another set";
    finding.hint = "allocate scratch memory in cuco_setup";
    if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
    return;
  }
}

}  // namespace cuco::check

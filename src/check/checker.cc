// SPDX-License-Identifier: Apache-2.0
#include "check/checker.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include <cxxabi.h>
#include <fmt/format.h>

#include "base/assert.h"
#include "vgpu/code.h"

namespace cuco::check {
namespace {

std::string demangle(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return name;
  std::string result(text);
  std::free(text);
  // Arguments say little that the place does not.
  return result.substr(0, result.find('('));
}

std::string coordinates(const std::array<std::uint32_t, 3>& at) {
  return fmt::format("({},{},{})", at[0], at[1], at[2]);
}

std::string thread_name(const vgpu::Warp& warp, unsigned lane) {
  const auto& size = warp.grid->request.block;
  const std::uint32_t linear = warp.index * vgpu::kLanes + lane;
  return coordinates({linear % size[0], linear / size[0] % size[1], linear / size[0] / size[1]});
}

std::string verb(AccessKind kind, std::uint64_t bytes) {
  const char* word = kind == AccessKind::Load    ? "read"
                     : kind == AccessKind::Store ? "write"
                                                 : "atomic";
  return fmt::format("{} of {} bytes", word, bytes);
}

}  // namespace

struct Checker::Work {
  WorkInfo info;
  ActorId actor = kNoActor;  ///< For work that is no grid.
  ChainId chain = 0;
  ClockPtr start;
  ClockPtr end;  ///< Grows while it runs.
  std::uint32_t site = 0;
};

struct Checker::BlockState {
  std::uint64_t grid = 0;
  std::uint64_t number = 0;
  WorkId work = 0;
  ActorId first = kNoActor;
  std::uint32_t warps = 0;
  SharedRaces shared;
  /// Knowledge gathered at each barrier: by those who arrived, for those who leave.
  struct Meeting {
    ClockPtr gathered;
    std::uint32_t warps = 0;
    bool leaving = false;
  };
  std::array<Meeting, 16> meetings;
};

Checker::Checker(Options options)
    : options_(options), races_([this](const Race& race) { report_race(race); }) {}
Checker::~Checker() = default;

void Checker::on_allocate(Address base, std::uint64_t bytes, std::string what, bool written) {
  memory_.allocate(base, bytes, std::move(what), written);
  races_.forget(base, bytes);
}

void Checker::on_free(Address base) {
  memory_.free(base);
}

void Checker::begin_work(WorkId id, const WorkInfo& info) {
  Work& work = works_[id];
  work.info = info;
  work.info.after = {};
  work.chain = next_chain_++;
  work.start = info.also ? info.also : Clock::zero();
  for (const WorkId before : info.after) {
    work.start = Clock::join(work.start, after_work(before));
  }
  work.end = work.start;
  if (info.grid != 0) {
    work_of_grid_[(std::uint64_t{info.device} << 48U) | info.grid] = id;
    return;
  }
  const auto block = static_cast<std::uint32_t>(block_index_.size());
  block_index_.push_back({});
  block_rank_.push_back(info.rank);
  work.actor = races_.add_actors({block, info.device, work.chain, 1}, 1, work.start);
  SiteRecord site;
  site.what = info.what;
  work.site = static_cast<std::uint32_t>(sites_.size());
  sites_.push_back(std::move(site));
}

void Checker::touch(WorkId id, Address address, std::uint64_t bytes, AccessKind kind) {
  const auto found = works_.find(id);
  if (found == works_.end() || found->second.actor == kNoActor) return;
  if (kind != AccessKind::Load) memory_.mark_written(address, bytes);
  if (!options_.global_races) return;
  races_.access(found->second.actor,
                {kind, Order::Weak, Scope::Sys, address, bytes, found->second.site, 0});
}

void Checker::read(WorkId work, Address address, std::uint64_t bytes) {
  touch(work, address, bytes, AccessKind::Load);
}

void Checker::write(WorkId work, Address address, std::uint64_t bytes) {
  touch(work, address, bytes, AccessKind::Store);
}

void Checker::end_work(WorkId id) {
  const auto found = works_.find(id);
  if (found == works_.end()) return;
  Work& work = found->second;
  if (work.actor != kNoActor) {
    work.end = Clock::join(work.end, races_.knowledge(work.actor));
  } else {
    for (auto at = blocks_.begin(); at != blocks_.end();) {
      BlockState& block = *at->second;
      if (block.work != id) {
        ++at;
        continue;
      }
      for (std::uint32_t w = 0; w < block.warps; ++w) {
        work.end = Clock::join(work.end, races_.knowledge(block.first + w));
      }
      if (last_block_ == at->first) last_block_ = nullptr;
      at = blocks_.erase(at);
    }
    work_of_grid_.erase((std::uint64_t{work.info.device} << 48U) | work.info.grid);
  }
  // The chain speaks for all of the work's actors from here on.
  work.end = Clock::with_chain(work.end, work.chain, 1);
  const ChainId chain = work.chain;
  work.end =
      Clock::without(work.end, [&](ActorId actor) { return races_.info(actor).chain == chain; });
}

ClockPtr Checker::after_work(WorkId id) const {
  const auto found = works_.find(id);
  return found == works_.end() ? Clock::zero() : found->second.end;
}

void Checker::publish(WorkId id, Address address) {
  const auto found = works_.find(id);
  if (found == works_.end() || found->second.actor == kNoActor) return;
  races_.access(found->second.actor,
                {AccessKind::Atomic, Order::AcqRel, Scope::Sys, address, 8, found->second.site, 0});
}

void Checker::learn_from_writer(WorkId id, Address address) {
  const auto found = works_.find(id);
  if (found == works_.end() || found->second.actor == kNoActor) return;
  races_.learn(found->second.actor, races_.writer_clock(address));
}

Checker::BlockState& Checker::state_of(const vgpu::Warp& warp) {
  const vgpu::Block* block = warp.block;
  if (block == last_block_ && last_state_->number == block->number &&
      last_state_->grid == warp.grid->id) {
    return *last_state_;
  }
  std::unique_ptr<BlockState>& slot = blocks_[block];
  if (slot && (slot->number != block->number || slot->grid != warp.grid->id)) {
    // The place of a finished block is used again: keep what it knew for the end of its grid.
    if (const auto work = works_.find(slot->work); work != works_.end()) {
      for (std::uint32_t w = 0; w < slot->warps; ++w) {
        work->second.end = Clock::join(work->second.end, races_.knowledge(slot->first + w));
      }
    }
    slot.reset();
  }
  if (!slot) {
    const auto key = (std::uint64_t{warp.grid->device} << 48U) | warp.grid->id;
    const auto work = work_of_grid_.find(key);
    const WorkId id = work == work_of_grid_.end() ? 0 : work->second;
    const Work* owner = id == 0 ? nullptr : &works_.at(id);
    const auto number = static_cast<std::uint32_t>(block_index_.size());
    block_index_.push_back(block->index);
    block_rank_.push_back(owner == nullptr ? -1 : owner->info.rank);
    const std::uint32_t warps = warp.grid->warps_per_block;
    const ActorId first =
        races_.add_actors({number, warp.grid->device, owner == nullptr ? 0 : owner->chain,
                           owner == nullptr ? 0U : 1U},
                          warps, owner == nullptr ? Clock::zero() : owner->start);
    slot = std::make_unique<BlockState>(BlockState{warp.grid->id,
                                                   block->number,
                                                   id,
                                                   first,
                                                   warps,
                                                   SharedRaces(warp.grid->shared_bytes, warps),
                                                   {}});
  }
  last_block_ = block;
  last_state_ = slot.get();
  return *last_state_;
}

std::uint32_t Checker::site_of(const vgpu::Warp& warp,
                               const vgpu::Op& op,
                               const vgpu::AccessEvent& event) {
  const auto kernel = reinterpret_cast<std::uintptr_t>(warp.kernel);
  const std::uint64_t key =
      (kernel << 20U) ^ (std::uint64_t{op.source} << 2U) ^ static_cast<std::uint64_t>(event.kind);
  const auto [at, fresh] = site_index_.try_emplace(key, static_cast<std::uint32_t>(sites_.size()));
  if (fresh) sites_.push_back({warp.kernel, op.source, event.kind, event.bytes, {}});
  return at->second;
}

Site Checker::describe(std::uint32_t index, ActorId actor, unsigned lane) const {
  const SiteRecord& record = sites_[index];
  Site site;
  if (actor != kNoActor) {
    const std::uint32_t block = races_.info(actor).block;
    site.rank = block_rank_[block];
    if (record.kernel != nullptr) site.block = coordinates(block_index_[block]);
  }
  if (record.kernel == nullptr) {
    site.what = record.what;
    site.kernel = "";
    return site;
  }
  const vgpu::Origin& origin = record.kernel->origins[record.origin];
  site.what = verb(record.kind, record.bytes);
  site.kernel = demangle(record.kernel->info.name);
  if (origin.instruction != nullptr && origin.instruction->source.line != 0) {
    const auto& files = record.kernel->module->files;
    const std::uint32_t file = origin.instruction->source.file;
    if (file < files.size()) site.file = files[file];
    site.line = static_cast<int>(origin.instruction->source.line);
  }
  static_cast<void>(lane);
  return site;
}

void Checker::on_access(const vgpu::Warp& warp,
                        const vgpu::Op& op,
                        const vgpu::AccessEvent& event) {
  switch (event.space) {
    case ptx::Space::Shared:
      if (options_.shared_races) check_shared(state_of(warp), warp, op, event);
      return;
    case ptx::Space::Global:
    case ptx::Space::Generic:
      if (options_.memory) check_memory(warp, op, event);
      if (options_.global_races) check_global(state_of(warp), warp, op, event);
      return;
    default:
      return;
  }
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
    while (rest != 0 && event.addresses[static_cast<unsigned>(std::countr_zero(rest))] == end) {
      end += event.bytes;
      rest &= rest - 1;
    }
    if (const auto problem = memory_.check(begin, end - begin, reads)) {
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
  Finding finding;
  finding.where = describe(site_of(warp, op, event), state_of(warp).first, lane);
  finding.where.thread = thread_name(warp, lane);
  finding.address = problem.address;
  const std::string access = verb(event.kind, event.bytes);
  switch (problem.kind) {
    case MemoryProblem::Kind::OutOfBounds:
      finding.kind = Kind::OutOfBounds;
      finding.message = fmt::format("{}, {}", access, problem.detail);
      finding.hint = "check the index against the size of the allocation";
      break;
    case MemoryProblem::Kind::Freed:
      finding.kind = Kind::UseAfterFree;
      finding.message = fmt::format("{} in memory that was {}", access, problem.detail);
      finding.hint = "free it only after the work that uses it is done";
      break;
    case MemoryProblem::Kind::Uninitialised:
      finding.kind = Kind::Uninitialised;
      finding.message = fmt::format("{}: {}", access, problem.detail);
      finding.hint = "initialise it (cudaMemset, cudaMemcpy) or write it before";
      break;
  }
  findings_.add(std::move(finding));
}

void Checker::check_shared(BlockState& block,
                           const vgpu::Warp& warp,
                           const vgpu::Op& op,
                           const vgpu::AccessEvent& event) {
  const std::uint32_t site = site_of(warp, op, event);
  const auto report = [&](const SharedRaces::Conflict& conflict) {
    Finding finding;
    finding.kind = Kind::SharedRace;
    finding.where = describe(site, block.first + warp.index, 0);
    finding.where.thread = fmt::format("in warp {}", warp.index);
    finding.other = describe(conflict.earlier_site, block.first + conflict.earlier_warp, 0);
    finding.other->thread = fmt::format("in warp {}", conflict.earlier_warp);
    finding.message =
        fmt::format("warps {} and {} touch byte {} of shared memory without a barrier between",
                    conflict.earlier_warp, warp.index, conflict.offset);
    finding.hint = "put __syncthreads() between the two";
    findings_.add(std::move(finding));
  };
  std::uint32_t rest = event.lanes;
  while (rest != 0) {
    const Address begin = event.addresses[static_cast<unsigned>(std::countr_zero(rest))];
    Address end = begin + event.bytes;
    rest &= rest - 1;
    // Runs of neighbours, and lanes that read the same word, become one question.
    while (rest != 0) {
      const Address next = event.addresses[static_cast<unsigned>(std::countr_zero(rest))];
      if (next != end && next != begin) break;
      if (next == end) end += event.bytes;
      rest &= rest - 1;
    }
    const auto first = static_cast<std::uint32_t>(begin / 4);
    const auto count = static_cast<std::uint32_t>((end + 3) / 4 - begin / 4);
    switch (event.kind) {
      case AccessKind::Load:
        if (is_strong(event.order)) break;
        block.shared.read(warp.index, first, count, site, report);
        break;
      case AccessKind::Store:
        if (is_strong(event.order)) break;
        block.shared.write(warp.index, first, count, site, report);
        break;
      case AccessKind::Atomic:
        for (std::uint32_t i = 0; i < count; ++i) {
          block.shared.atomic(warp.index, first + i, site, report);
        }
        break;
    }
  }
}

void Checker::check_global(BlockState& block,
                           const vgpu::Warp& warp,
                           const vgpu::Op& op,
                           const vgpu::AccessEvent& event) {
  Access access;
  access.kind = event.kind;
  access.order = event.order;
  access.scope = event.scope;
  access.bytes = event.bytes;
  access.site = site_of(warp, op, event);
  for (std::uint32_t rest = event.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    access.address = event.addresses[lane];
    access.lane = static_cast<std::uint16_t>(lane);
    races_.access(block.first + warp.index, access);
  }
}

void Checker::report_race(const Race& race) {
  Finding finding;
  finding.where = describe(race.later.site, race.later.actor, race.later.lane);
  finding.other = describe(race.earlier.site, race.earlier.actor, race.earlier.lane);
  finding.address = race.address;
  finding.allocation = memory_.describe(race.address);
  const bool put = finding.other->what == "put" || finding.where.what == "put";
  if (put && race.earlier_writes && !race.later_writes) {
    finding.kind = Kind::UnorderedRead;
    finding.message = "reads bytes that a put writes, without having waited for its signal";
    finding.hint = "wait for the signal that comes with or after the put (ncclGin::waitSignal)";
  } else if (put && !race.later_writes) {
    finding.kind = Kind::UnorderedRead;
    finding.message = "a put reads bytes that are not known to be written yet";
    finding.hint = "order the producer before the put: a barrier of the block, or a release";
  } else if (put && !race.earlier_writes) {
    finding.kind = Kind::SourceReuse;
    finding.message = "writes bytes that a put may still be reading or a peer may still be using";
    finding.hint = "flush, or wait for the put's counter, before the bytes are used again";
  } else {
    finding.kind = Kind::GlobalRace;
    finding.message = fmt::format("{} and {} of the same bytes are not ordered",
                                  race.earlier_writes ? "a write" : "a read",
                                  race.later_writes ? "a write" : "a read");
    finding.hint =
        "order them: same stream, an event, a barrier, or release and acquire of a scope that "
        "includes both";
  }
  findings_.add(std::move(finding));
}

void Checker::on_fence(const vgpu::Warp& warp, const vgpu::Op&, Order order, Scope scope) {
  if (options_.global_races) races_.fence(state_of(warp).first + warp.index, order, scope);
}

void Checker::on_barrier_arrive(const vgpu::Warp& warp,
                                const vgpu::Op&,
                                unsigned id,
                                std::uint32_t) {
  BlockState& block = state_of(warp);
  BlockState::Meeting& meeting = block.meetings[id % 16];
  if (meeting.leaving) meeting = {};
  meeting.warps |= 1U << warp.index;
  if (options_.global_races) {
    meeting.gathered = Clock::join(meeting.gathered, races_.publish(block.first + warp.index));
  }
}

void Checker::on_barrier_release(const vgpu::Warp& warp, unsigned id, std::uint32_t) {
  BlockState& block = state_of(warp);
  BlockState::Meeting& meeting = block.meetings[id % 16];
  if (!meeting.leaving) {
    meeting.leaving = true;
    block.shared.meet(meeting.warps);
  }
  if (options_.global_races && meeting.gathered) {
    races_.learn(block.first + warp.index, meeting.gathered);
  }
}

void Checker::on_warp_sync(const vgpu::Warp&, const vgpu::Op&, std::uint32_t) {}

void Checker::report_leaks() {
  for (const std::string& allocation : memory_.live()) {
    Finding finding;
    finding.kind = Kind::Leak;
    finding.message = "still allocated at the end: " + allocation;
    finding.allocation = allocation;
    finding.hint = "free it before the program ends";
    findings_.add(std::move(finding));
  }
}

std::uint64_t Checker::shadow_bytes() const {
  return memory_.shadow_bytes() + races_.shadow_bytes();
}

}  // namespace cuco::check

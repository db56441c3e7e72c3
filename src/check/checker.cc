// SPDX-License-Identifier: Apache-2.0
// Work, blocks and places; what is checked about them is in checker_memory.cc, checker_races.cc.
#include "check/checker.h"

#include <algorithm>
#include <cstdlib>

#include <cxxabi.h>
#include <fmt/format.h>

#include "base/assert.h"
#include "check/block_state.h"
#include "check/spelling.h"
#include "ptx/toolkit_source.h"
#include "vgpu/lower/code.h"

namespace cuco::check {
std::string demangle(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return name;
  std::string result(text);
  std::free(text);
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (std::size_t at = result.find(kUnnamed); at != std::string::npos; at = result.find(kUnnamed))
    result.erase(at, kUnnamed.size());
  // Arguments say little that the place does not; nor does what a template's kernel returns.
  int depth = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == '<') ++depth;
    if (result[i] == '>') --depth;
    if (result[i] == '(' && depth == 0) result.resize(i);
  }
  return result.starts_with("void ") ? result.substr(5) : result;
}

std::string coordinates(const std::array<std::uint32_t, 3>& at) {
  return fmt::format("({},{},{})", at[0], at[1], at[2]);
}

std::string thread_name(const std::array<std::uint32_t, 3>& size, std::uint32_t linear) {
  return coordinates({linear % size[0], linear / size[0] % size[1], linear / size[0] / size[1]});
}

std::string verb(AccessKind kind, std::uint64_t bytes) {
  const char* word = kind == AccessKind::Load    ? "read"
                     : kind == AccessKind::Store ? "write"
                                                 : "atomic";
  return fmt::format("{} of {} byte{}", word, bytes, bytes == 1 ? "" : "s");
}

Checker::Checker(Options options)
    : options_(options), races_([this](const Race& race) { report_race(race); }) {
  races_.on_stand_in([this](const StandIn& found) {
    constexpr std::size_t kEnough = 256;
    if (stand_ins_.size() < kEnough) stand_ins_.push_back(found);
  });
}
Checker::~Checker() = default;

void Checker::on_allocate(Address base, std::uint64_t bytes, AllocationInfo info) {
  memory_.allocate(base, bytes, std::move(info));
  if (options_.global_races) races_.forget(base, bytes);
}

void Checker::on_free(Address base, Site freed_at) {
  memory_.free(base, std::move(freed_at));
}

void Checker::give_back(
    Address base, std::uint64_t bytes, const Site& call, int rank, const ClockPtr& known) {
  communication_.for_puts([&](ActorId actor, const PutRecord& put) {
    const auto lies_here = [&](Address address) {
      return address != 0 && address < base + bytes && base < address + put.bytes;
    };
    const bool from = lies_here(put.source);
    if (put.bytes == 0 || (!from && !lies_here(put.destination)) || races_.knows(known, actor)) {
      return;
    }
    Finding finding;
    finding.where = call;
    finding.where.rank = rank;
    finding.where.what = "memory or a window given back";
    finding.address = base;
    locate(finding, base);
    finding.message = fmt::format("given back while a put {} it, from rank {} to rank {}, may {}",
                                  from ? "from" : "to", put.from, put.to,
                                  from ? "still be reading it" : "still be on its way");
    report_given_back(actor, put, from, std::move(finding));
  });
}

void Checker::give_back_communicator(std::uint64_t number,
                                     const Site& call,
                                     int rank,
                                     const ClockPtr& known) {
  communication_.for_puts([&](ActorId actor, const PutRecord& put) {
    const bool from = put.from == rank;
    if (put.communicator != number || put.bytes == 0 || (!from && put.to != rank) ||
        races_.knows(known, actor)) {
      return;
    }
    Finding finding;
    finding.where = call;
    finding.where.rank = rank;
    finding.where.what = "device communicator destroyed";
    finding.message = fmt::format(
        "the device communicator is destroyed while a put through it, from rank {} to rank {}, may "
        "still be on its way",
        put.from, put.to);
    report_given_back(actor, put, from, std::move(finding));
  });
}

void Checker::release_again(const std::string& what, const Site& call, int rank) {
  Finding finding;
  finding.kind = Kind::UseAfterFree;
  finding.where = call;
  finding.where.rank = rank;
  finding.where.what = what;
  finding.message = what + " of something that the rank has already given back, or never had";
  finding.hint =
      "give each window and device communicator back once, with the handle it was made as";
  (void)findings_.add(std::move(finding));
}

void Checker::free_again(const std::string& what, Address base, const Site& call) {
  const MemoryState::Block* block = memory_.find(base);
  if (block == nullptr || !block->freed || block->base != base) return;
  Finding finding;
  finding.kind = Kind::UseAfterFree;
  finding.where = call;
  finding.where.rank = block->info.rank;
  finding.where.what = what;
  finding.address = base;
  locate(finding, base);
  finding.message = what + " of memory that was already freed";
  finding.hint = "free it once: by now the address may be another allocation's";
  if (!block->freed_at.module.empty()) {
    finding.other = block->freed_at;
    finding.other->what = "free";
  }
  (void)findings_.add(std::move(finding));
}

void Checker::report_given_back(ActorId actor, const PutRecord& put, bool from, Finding finding) {
  // Of a put that nobody waits for that is the finding.
  if (told_puts_.contains(sites_[put.site].line)) return;
  const std::uint64_t key = given_back_key(put);
  if (const auto told = reported_.find(key); told != reported_.end()) {
    return findings_.count(told->second);
  }
  finding.kind = Kind::UseAfterFree;
  finding.other = describe(put.site, actor, 0);
  finding.hint =
      from ? "know first that the put has arrived: flush, a counter, or a collective of all "
             "ranks after the receiver's wait"
           : "wait for the put's signal first, on all ranks that others put to";
  if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
  // It will not arrive any more. Whoever has read its bytes without waiting is the better finding.
  if (put.is_delivered || !options_.global_races) return;
  races_.access(
      actor, {AccessKind::Store, Order::Weak, Scope::Sys, put.destination, put.bytes, put.site, 0});
}

WorkId Checker::begin(const WorkInfo& info) {
  const WorkId id = next_work_++;
  Work& work = works_[id];
  work.info = info;
  work.chain = info.chain;
  work.operation = info.operation;
  work.end = info.start ? info.start : Clock::zero();
  const auto block = static_cast<std::uint32_t>(block_records_.size());
  work.actor = races_.add_actors({block, info.device, work.chain, work.operation}, 1, work.end);
  BlockRecord record;
  record.rank = info.rank;
  record.first = work.actor;
  block_records_.push_back(record);
  work.site = host_site(info.what, info.call);
  return id;
}

std::uint32_t Checker::host_site(const std::string& what, const Site& call) {
  const std::string key =
      fmt::format("{} {} {} {}:{}", what, call.module, call.offset, call.file, call.line);
  const auto [at, fresh] =
      host_site_index_.try_emplace(key, static_cast<std::uint32_t>(sites_.size()));
  if (fresh) {
    SiteRecord site;
    site.place = call;
    site.place.what = what;
    site.line = at->second;
    if (call.line > 0) {
      const std::string line = fmt::format("{}:{}", call.file, call.line);
      site.line = lines_.try_emplace(line, at->second).first->second;
    }
    sites_.push_back(std::move(site));
  }
  return at->second;
}

void Checker::host_read(WorkId id, Address address, std::uint64_t bytes, const Site& call) {
  races_.access(works_.at(id).actor, {AccessKind::Load, Order::Weak, Scope::Sys, address, bytes,
                                      host_site("read by the host", call), 0});
}

void Checker::host_write(WorkId id, Address address, std::uint64_t bytes, const Site& call) {
  memory_.mark_written(address, bytes);
  races_.access(works_.at(id).actor, {AccessKind::Store, Order::Weak, Scope::Sys, address, bytes,
                                      host_site("write by the host", call), 0});
}

ClockPtr Checker::host_look(WorkId id, Address address, std::uint64_t bytes) {
  for (Address word = address & ~Address{3}; word < address + bytes; word += 4)
    host_flags_.insert(word);
  const ClockPtr told = races_.told_by(address);
  races_.learn(works_.at(id).actor, told);
  return told;
}

void Checker::host_raise(WorkId id, Address address, std::uint64_t bytes, const Site& call) {
  memory_.mark_written(address, bytes);
  races_.access(works_.at(id).actor, {AccessKind::Store, Order::Release, Scope::Sys, address, bytes,
                                      host_site("flag raised by the host", call), 0});
}

void Checker::bind_grid(WorkId id, std::uint32_t device, std::uint64_t grid) {
  Work& work = works_.at(id);
  work.grid_key = (std::uint64_t{device} << 48U) | grid;
  work_of_grid_[work.grid_key] = id;
}

void Checker::touch(WorkId id, Address address, std::uint64_t bytes, AccessKind kind) {
  const auto found = works_.find(id);
  if (found == works_.end() || bytes == 0) return;
  if (options_.memory) check_bounds(found->second, address, bytes, kind);
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

void Checker::claim(WorkId id, Address address, std::uint64_t bytes) {
  const auto found = works_.find(id);
  if (found == works_.end() || bytes == 0 || !options_.global_races) return;
  races_.access(found->second.actor, {AccessKind::Store, Order::Weak, Scope::Sys, address, bytes,
                                      found->second.site, 0});
  races_.end_flags(address, bytes);
}

void Checker::copy(WorkId work, Address to, Address from, std::uint64_t bytes) {
  read(work, from, bytes);
  const auto found = works_.find(work);
  if (found == works_.end() || bytes == 0) return;
  if (options_.memory) check_bounds(found->second, to, bytes, AccessKind::Store);
  memory_.copy_state(to, from, bytes);
  if (!options_.global_races) return;
  races_.access(found->second.actor,
                {AccessKind::Store, Order::Weak, Scope::Sys, to, bytes, found->second.site, 0});
}

void Checker::deliver(WorkId work, Address to, Address from, std::uint64_t bytes) {
  const auto found = works_.find(work);
  if (found == works_.end() || bytes == 0) return;
  memory_.copy_state(to, from, bytes);
  if (PutRecord* put = communication_.find_put(found->second.actor)) put->is_delivered = true;
  if (!options_.global_races) return;
  races_.access(found->second.actor,
                {AccessKind::Store, Order::Weak, Scope::Sys, to, bytes, found->second.site, 0});
}

ActorId Checker::actor_of(WorkId work) const {
  const auto found = works_.find(work);
  return found == works_.end() ? kNoActor : found->second.actor;
}

std::uint32_t Checker::site_of(WorkId work) const {
  const auto found = works_.find(work);
  return found == works_.end() ? 0 : found->second.site;
}

ClockPtr Checker::end(WorkId id) {
  settle();
  const auto found = works_.find(id);
  if (found == works_.end()) return nullptr;
  Work& work = found->second;
  if (work.grid_key != 0) {
    for (auto at = blocks_.begin(); at != blocks_.end();) {
      if (at->second->work != id) {
        ++at;
        continue;
      }
      retire(*at->second);
      if (last_block_ == at->first) last_block_ = nullptr;
      spare_.push_back(std::move(at->second));
      at = blocks_.erase(at);
    }
    work_of_grid_.erase(work.grid_key);
    if (!stand_ins_.empty()) judge_stand_ins(work.info.device);
  }
  work.end = Clock::join(work.end, races_.knowledge(work.actor));
  if (work.chain != 0) {
    // The chain speaks for all of the work's actors from here on.
    work.end = Clock::with_chain(work.end, work.chain, work.operation);
  } else {
    work.end = Clock::with_actor(work.end, work.actor, ~0U);
  }
  ClockPtr result = races_.prune(work.end);
  races_.retire(work.actor);
  works_.erase(found);
  return result;
}

void Checker::publish(
    WorkId id, Address address, std::uint32_t bytes, std::uint64_t added, std::uint64_t value) {
  const auto found = works_.find(id);
  if (found == works_.end() || !options_.global_races) return;
  Access access{
      AccessKind::Atomic, Order::Release, Scope::Sys, address, bytes, found->second.site, 0};
  access.is_addition = true;
  access.is_delivery = true;
  access.before = value - added;
  access.after = value;
  races_.access(found->second.actor, access);
}

Site Checker::writer_site(Address address) {
  const Stamp stamp = races_.last_write(address);
  return stamp.actor == kNoActor ? Site{} : describe(stamp.site, stamp.actor, stamp.lane);
}

void Checker::learn(WorkId id, const ClockPtr& clock) {
  const auto found = works_.find(id);
  if (found != works_.end()) races_.learn(found->second.actor, clock);
}

void Checker::retire(BlockState& block) {
  if (!block.unwritten.empty()) report_unwritten(block);
  block.unwritten.clear();
  const auto work = works_.find(block.work);
  for (std::uint32_t w = 0; w < block.warps; ++w) {
    // What its warps learned from elsewhere; what they did is covered by the grid's chain.
    if (work == works_.end()) break;
    races_.end_kernel(block.first + w);
    const ClockPtr known = races_.clock(block.first + w);
    if (known != work->second.info.start) work->second.end = Clock::join(work->second.end, known);
  }
  races_.retire(block.first);
  forget_bulk(block);
  block.flags.clear();
  for (const Address at : block.meetings_on)
    races_.forget_meeting(at);
  block.meetings_on.clear();
  for (auto& meeting : block.meetings)
    meeting = {};
  block.proxied = {};
}

Checker::BlockState& Checker::state_of(const vgpu::Warp& warp) {
  const vgpu::Block* block = warp.block;
  if (block == last_block_ && last_state_->number == block->number &&
      last_state_->grid == warp.grid->id) {
    return *last_state_;
  }
  std::unique_ptr<BlockState>& slot = blocks_[block];
  if (slot && (slot->number != block->number || slot->grid != warp.grid->id)) {
    // The place of a finished block is used again.
    retire(*slot);
    spare_.push_back(std::move(slot));
  }
  last_state_ = slot ? slot.get() : &start_block(warp);
  last_block_ = block;
  return *last_state_;
}

Checker::BlockState& Checker::start_block(const vgpu::Warp& warp) {
  std::unique_ptr<BlockState>& slot = blocks_[warp.block];
  if (spare_.empty()) {
    slot = std::make_unique<BlockState>();
  } else {
    slot = std::move(spare_.back());
    spare_.pop_back();
  }
  BlockState& block = *slot;
  block.order.reset();
  block.shared.reset(warp.grid->shared_bytes, warp.grid->warps_per_block);
  block.async.reset(warp.grid->shared_bytes);
  block.grid = warp.grid->id;
  block.number = warp.block->number;
  block.warps = warp.grid->warps_per_block;
  const auto key = (std::uint64_t{warp.grid->device} << 48U) | warp.grid->id;
  const auto work = work_of_grid_.find(key);
  block.work = work == work_of_grid_.end() ? 0 : work->second;
  const Work* owner = block.work == 0 ? nullptr : &works_.at(block.work);
  block.record = static_cast<std::uint32_t>(block_records_.size());
  ActorInfo info{block.record, warp.grid->device, 0, 0};
  if (owner != nullptr) {
    info.chain = owner->chain;
    info.operation = owner->operation;
  }
  block.first = races_.add_actors(
      info, block.warps, owner == nullptr ? Clock::zero() : owner->info.start, &block.order);
  block_records_.push_back({warp.block->index, warp.grid->request.block, block.first,
                            owner == nullptr ? -1 : owner->info.rank});
  return block;
}

std::uint32_t Checker::find_site(std::uint64_t key,
                                 const vgpu::Warp& warp,
                                 const vgpu::Op& op,
                                 AccessKind kind,
                                 std::uint32_t bytes) {
  const auto [at, fresh] = site_index_.try_emplace(key, static_cast<std::uint32_t>(sites_.size()));
  if (fresh) {
    // In words at once: the kernel's module may be gone when they are needed.
    sites_.push_back({place_of(*warp.kernel, op.source), true, at->second});
    const ptx::Instruction* in = warp.kernel->origins[op.source].instruction;
    sites_.back().is_constant = in != nullptr && in->has(ptx::Modifier::Nc);
    sites_.back().is_bulk =
        in != nullptr && in->opcode == ptx::Opcode::Cp && in->has(ptx::Modifier::Bulk);
    Site& place = sites_.back().place;
    place.what = verb(kind, bytes);
    if (place.line > 0) {
      // An unrolled loop is one line.
      const std::string line =
          fmt::format("{} {}:{} {}", place.kernel, place.file, place.line, static_cast<int>(kind));
      sites_.back().line = lines_.try_emplace(line, at->second).first->second;
    }
  }
  return at->second;
}

Site Checker::place_of(const vgpu::Kernel& kernel, std::uint32_t index) {
  Site site;
  site.kernel = demangle(kernel.info.name);
  const vgpu::Origin& origin = kernel.origins[index];
  if (origin.instruction == nullptr || origin.instruction->source.line == 0) return site;
  const auto& files = kernel.module->files;
  const auto file_of = [&](const ptx::SourceLine& line) {
    return line.file < files.size() ? files[line.file] : std::string();
  };
  const ptx::Instruction& in = *origin.instruction;
  const bool outer = in.caller.line != 0 && ptx::is_of_toolkit(file_of(in.source));
  const ptx::SourceLine& line = outer ? in.caller : in.source;
  site.file = file_of(line);
  site.line = static_cast<int>(line.line);
  return site;
}

Site Checker::describe(std::uint32_t index, ActorId actor, unsigned lane) const {
  const SiteRecord& record = sites_[index];
  Site site = record.place;
  if (actor == kNoActor) return site;
  const BlockRecord& block = block_records_[races_.info(actor).block];
  site.rank = block.rank;
  if (!record.in_kernel) return site;
  site.block = coordinates(block.index);
  const std::uint32_t threads = block.size[0] * block.size[1] * block.size[2];
  if ((actor - block.first) * vgpu::kLanes >= threads) return site;  // of a bulk copy
  site.thread = lane == kManyLanes
                    ? fmt::format("in warp {}", actor - block.first)
                    : thread_name(block.size, (actor - block.first) * vgpu::kLanes + lane);
  return site;
}

void Checker::locate(Finding& finding, Address address) const {
  const MemoryState::Block* block = memory_.find(address);
  if (block == nullptr) block = memory_.nearest(address);
  if (block == nullptr) return;
  finding.allocation = MemoryState::describe(*block);
  if (!block->info.made.module.empty() || !block->info.made.file.empty()) {
    finding.made = block->info.made;
  }
}

std::uint64_t Checker::shadow_bytes() const {
  return memory_.shadow_bytes() + races_.shadow_bytes();
}

}  // namespace cuco::check

// SPDX-License-Identifier: Apache-2.0
#include "vcluster/watch/run_check.h"

#include <fmt/format.h>

#include "shims/wire/call_site.h"
#include "system/os/other_process.h"
#include "vcluster/device/devices.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/sessions.h"
#include "vgpu/lower/program.h"

namespace cuco::vcluster {
namespace {

/// Which file is mapped at the address in a process, and the address's offset in it.
check::Site place_of(std::uint32_t pid, std::uint64_t address) {
  check::Site site;
  if (const auto file = system::file_at(pid, address)) {
    site.module = file->path;
    site.offset = file->offset;
  }
  return site;
}

}  // namespace

RunCheck::RunCheck(const Devices& devices,
                   WorkGraph& works,
                   const Sessions& sessions,
                   const Processes& processes)
    : checker(check::Options{}),
      devices_(devices),
      works_(works),
      sessions_(sessions),
      processes_(processes) {
  checker.set_lookup([this](std::uint64_t address) -> std::optional<check::Checker::Found> {
    const auto found = devices_.memory().find_allocation(address);
    if (!found) return std::nullopt;
    return check::Checker::Found{found->base, found->bytes};
  });
}

std::shared_ptr<const check::Site> RunCheck::call_of(const Session& session) {
  // Requests of a checked run carry the address that the program called from.
  const wire::CallSite site = wire::unpack_call_site(session.request().header);
  return site.inner == 0 ? nullptr : place(session.pid, site.inner, site.outer);
}

std::shared_ptr<const check::Site> RunCheck::place(std::uint32_t pid,
                                                   std::uint64_t inner,
                                                   std::uint64_t outer) {
  auto& slot = calls_[{pid, inner, outer}];
  if (slot != nullptr) return slot;
  check::Site place = place_of(pid, inner);
  const check::Site caller = place_of(pid, outer);
  if (caller.module == place.module) place.outer_offset = caller.offset;
  return slot = std::make_shared<const check::Site>(std::move(place));
}

// Threads of one process tell each other things by locks and variables that nobody watches: what
// one of them knows, or a callback of a stream, all may know.
check::ClockPtr RunCheck::known_in_process(const Session& session) const {
  check::ClockPtr known = session.known;
  for (const auto& [number, other] : sessions_.all()) {
    if (other->process == session.process) known = check::Clock::join(known, other->known);
  }
  return check::Clock::join(known, departed_);
}

void RunCheck::on_host_accesses(Session& session, std::span<const wire::HostAccess> accesses) {
  watched_.insert(session.process);
  // A callback's accesses have their place in a stream; what it does there is not watched.
  if (accesses.empty() || session.is_service) return;
  if (session.accesses == 0) session.accesses = works_.new_chain();
  check::WorkInfo info;
  info.what = "host";
  info.rank = session.process->rank;
  info.device = check::kHostDevice;
  info.chain = session.accesses;
  info.operation = ++session.access_count;
  info.start = known_in_process(session);
  const check::WorkId id = checker.begin(info);
  for (const wire::HostAccess& access : accesses) {
    const std::uint64_t address = canonical(access.address);
    const auto call = place(session.pid, access.caller, 0);
    switch (access.kind) {
      case wire::HostAccess::kRead:
        checker.host_read(id, address, access.bytes, *call);
        break;
      case wire::HostAccess::kWrite:
        checker.host_write(id, address, access.bytes, *call);
        break;
      case wire::HostAccess::kLook:
        session.learn(checker.host_look(id, address, access.bytes));
        break;
      case wire::HostAccess::kRaise:
        checker.host_raise(id, address, access.bytes, *call);
        break;
    }
  }
  (void)checker.end(id);
  session.known = check::Clock::with_chain(session.known, session.accesses, session.access_count);
}

// A process without a rank that drives several devices is meant as so many ranks.
int RunCheck::rank_of(const Process& process, std::int32_t device) const {
  if (process.rank >= 0) return process.rank;
  return devices_.count() > 1 ? device : -1;
}

void RunCheck::allocated(std::uint64_t address, std::uint64_t bytes, std::string what, int rank) {
  const auto& call = works_.host.call;
  checker.on_allocate(address, bytes,
                      {.what = std::move(what),
                       .rank = rank,
                       .written = false,
                       .internal = false,
                       .made = call ? *call : check::Site{}});
}

void RunCheck::allocated_written(std::uint64_t address,
                                 std::uint64_t bytes,
                                 std::string what,
                                 int rank) {
  const auto& call = works_.host.call;
  checker.on_allocate(address, bytes,
                      {.what = std::move(what),
                       .rank = rank,
                       .written = true,
                       .internal = false,
                       .made = call ? *call : check::Site{}});
}

void RunCheck::on_program(const Process& process,
                          const vgpu::Program& program,
                          std::int32_t device) {
  const int rank = rank_of(process, device);
  for (const ptx::Variable& variable : program.module().variables) {
    if (variable.space != ptx::Space::Global || variable.linkage == ptx::Linkage::Extern) continue;
    const auto symbol = program.find_symbol(variable.name);
    if (!symbol || variable.bytes == 0) continue;
    if (variable.managed) shares_memory("managed");
    checker.on_allocate(
        canonical(symbol->address), variable.bytes,
        {.what = std::string(check::kVariable) + variable.name, .rank = rank, .written = true});
  }
}

void RunCheck::on_bad_copy(const wire::CopyEnd& end, std::uint64_t bytes, int rank) {
  if (end.where != wire::CopyEnd::kServer) return;
  check::WorkInfo info;
  info.what = fmt::format("copy of {} bytes", bytes);
  info.rank = rank;
  if (works_.host.call != nullptr) info.call = *works_.host.call;
  info.start = works_.host.known;
  const check::WorkId id = checker.begin(info);
  checker.check_bounds(id, canonical(end.address), bytes);
  (void)checker.end(id);
}

void RunCheck::on_stream_allocate(Work& work, const Context& context, const ClaimOperation& made) {
  const check::WorkId id =
      act(work, "cudaMallocAsync", rank_of(*context.process, context.device), context.device);
  checker.claim(id, canonical(made.address), made.bytes);
  end(work);
}

void RunCheck::on_stream_free(Work& work,
                              const Context& context,
                              const FreeOperation& free,
                              std::uint64_t bytes) {
  const check::WorkId id =
      act(work, "cudaFreeAsync", rank_of(*context.process, context.device), context.device);
  checker.claim(id, canonical(free.address), bytes);
  end(work);
  given_back(free.address, bytes, rank_of(*context.process, context.device),
             {work.known, work.call});
  freed(free.address, work.call);
}

void RunCheck::given_back(std::uint64_t address, std::uint64_t bytes, int rank) {
  given_back(address, bytes, rank, works_.host);
}

void RunCheck::given_back(std::uint64_t address,
                          std::uint64_t bytes,
                          int rank,
                          const HostView& by) {
  checker.give_back(canonical(address), bytes, by.call ? *by.call : check::Site{}, rank, by.known);
}

void RunCheck::communicator_destroyed(std::uint64_t number, int rank) {
  const auto& call = works_.host.call;
  checker.give_back_communicator(number, call ? *call : check::Site{}, rank, works_.host.known);
}

void RunCheck::released_again(std::string_view call, int rank) {
  const auto& site = works_.host.call;
  checker.release_again(std::string(call), site ? *site : check::Site{}, rank);
}

void RunCheck::freed_again(std::string_view call, std::uint64_t address) {
  const auto& site = works_.host.call;
  checker.free_again(std::string(call), canonical(address), site ? *site : check::Site{});
}

void RunCheck::freed(std::uint64_t address, const std::shared_ptr<const check::Site>& call) {
  checker.on_free(address, call ? *call : check::Site{});
  const auto known = devices_.memory().find_allocation(address);
  if (!known || known->base != address) return;
  // Kept mapped, so that a kernel that still uses it is reported instead of reading what the next
  // allocation writes.
  set_aside_.push_back(*known);
  set_aside_bytes_ += known->bytes;
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20U;
  while (set_aside_bytes_ > kMost) {
    set_aside_bytes_ -= set_aside_.front().bytes;
    (void)devices_.memory().free(set_aside_.front().base).has_value();
    set_aside_.pop_front();
  }
}

check::WorkId RunCheck::act(Work& work, const std::string& what, int rank, std::int32_t device) {
  check::WorkId& id = running_[&work];
  if (id != 0) return id;
  check::WorkInfo info;
  info.what = what;
  info.rank = rank;
  info.device = static_cast<std::uint32_t>(device);
  info.chain = work.chain;
  info.operation = work.operation;
  info.start = work.known;
  if (work.call != nullptr) info.call = *work.call;
  return id = checker.begin(info);
}

void RunCheck::end(Work& work) {
  const auto found = running_.find(&work);
  if (found == running_.end()) return;
  work.known = checker.end(found->second);
  running_.erase(found);
}

void RunCheck::start_grid(Work& work,
                          const Context& context,
                          const std::string& kernel,
                          vgpu::GridId grid) {
  const int rank = rank_of(*context.process, context.device);
  const check::WorkId id = act(work, "kernel " + kernel, rank, context.device);
  checker.bind_grid(id, static_cast<std::uint32_t>(context.device), grid);
}

std::uint64_t RunCheck::canonical(std::uint64_t address) const {
  return devices_.memory().valid(address, 1) ? devices_.memory().canonical(address) : address;
}

void RunCheck::for_rows(const CopyOperation& copy,
                        const wire::CopyEnd& end,
                        const std::function<void(std::uint64_t, std::uint64_t)>& row) const {
  const bool packed =
      (copy.height == 1 && copy.depth == 1) ||
      (end.pitch == copy.width && (copy.depth == 1 || end.slice == copy.width * copy.height));
  if (packed) return row(canonical(end.address), copy.bytes());
  for (std::uint64_t z = 0; z < copy.depth; ++z) {
    for (std::uint64_t y = 0; y < copy.height; ++y)
      row(canonical(end.address + z * end.slice + y * end.pitch), copy.width);
  }
}

void RunCheck::on_copy(Work& work, const Context& context, const CopyOperation& copy) {
  const bool from_here = copy.from.where == wire::CopyEnd::kServer;
  const bool to_here = copy.to.where == wire::CopyEnd::kServer;
  const auto is_pinned = [](const wire::CopyEnd& end) { return end.address >= vgpu::kHostBase; };
  const bool to_host = !to_here || is_pinned(copy.to);
  const bool from_host = !from_here || is_pinned(copy.from);
  const char* way = from_host && to_host ? "on the host"
                    : to_host            ? "to the host"
                    : from_host          ? "to the device"
                                         : "on the device";
  const check::WorkId id = act(work, fmt::format("copy of {} bytes {}", copy.bytes(), way),
                               rank_of(*context.process, context.device), context.device);
  const bool flat = copy.height == 1 && copy.depth == 1;
  if (from_here && to_here && !to_host && flat) {
    checker.copy(id, canonical(copy.to.address), canonical(copy.from.address), copy.bytes());
    return end(work);
  }
  if (from_here) {
    for_rows(copy, copy.from, [&](std::uint64_t address, std::uint64_t bytes) {
      to_host ? checker.read_out(id, address, bytes) : checker.read(id, address, bytes);
    });
  }
  if (to_here) {
    for_rows(copy, copy.to, [&](std::uint64_t address, std::uint64_t bytes) {
      checker.write(id, address, bytes);
    });
  }
  end(work);
}

void RunCheck::on_fill(Work& work, const Context& context, const FillOperation& fill) {
  const check::WorkId id = act(work, fmt::format("fill of {} bytes", fill.bytes()),
                               rank_of(*context.process, context.device), context.device);
  const std::uint64_t width = fill.width * fill.element_bytes;
  for (std::uint64_t z = 0; z < fill.depth; ++z) {
    for (std::uint64_t y = 0; y < fill.height; ++y)
      checker.write(id, canonical(fill.address + z * fill.slice + y * fill.pitch), width);
  }
  end(work);
}

void RunCheck::on_graph_node(const Work& node, const Work& begin) {
  // The graph's end is the next piece in the stream of its beginning.
  checker.races().cover(node.chain, begin.chain, begin.operation + 1);
}

check::ClockPtr RunCheck::on_result_read(const Session& session,
                                         std::uint64_t address,
                                         std::uint64_t bytes) {
  check::WorkInfo info;
  info.what = "read of the result, after the rank has said that it is done";
  info.rank = session.process->rank;
  info.start = session.known;
  const check::WorkId id = checker.begin(info);
  checker.read(id, canonical(address), bytes);
  return checker.end(id);
}

void RunCheck::learn_from_all(Session& session) const {
  for (const auto& [number, other] : sessions_.all())
    session.learn(other->known);
  session.learn(departed_);
}

void RunCheck::abandoned(std::uint64_t address, bool in_order) {
  if (in_order) checker.report_leak(address);
  checker.on_free(address);
}

void RunCheck::tell_what_is_unwatched() const {
  if (shared_.empty() || !watched_.empty()) return;
  std::string names;
  for (const std::string& name : shared_)
    names += (names.empty() ? "" : " and ") + name;
  fmt::print(
      stderr,
      "cuco: note: what the host reads and writes of {} memory is not watched, nor whether "
      "it waits before: that takes host code that cuco compiles (cuco run --check FILE.cu)\n",
      names);
}

void RunCheck::finish() {
  tell_what_is_unwatched();
  if (processes_.lost().empty()) checker.report_leaks();
  checker.fold_unwritten();
}

void RunCheck::on_deadlock(const std::vector<ClusterWait>& waits) {
  checker.on_deadlock(waiters_of(waits));
}

check::ChainId RunCheck::new_chain() {
  return works_.new_chain();
}

// A put is an actor from its post to its credit: whatever touches its source or destination between
// the two without being ordered races with it.
check::WorkId RunCheck::begin_put(const check::WorkInfo& info, const check::PutRecord& put) {
  const check::WorkId id = checker.begin(info);
  checker.communication().add_put(checker.actor_of(id), put).site = checker.site_of(id);
  // The NIC may read the source at any moment from here on.
  if (put.source != 0) checker.read(id, put.source, put.bytes);
  return id;
}

void RunCheck::raise(check::WorkId put,
                     std::uint64_t signal,
                     std::uint64_t added,
                     std::uint64_t value,
                     Place place) {
  checker.communication().raise(signal, value, checker.actor_of(put));
  if (place.operation > 1) {
    checker.learn(put, check::Clock::with_chain(nullptr, place.chain, place.operation - 1));
  }
  checker.publish(put, signal, 8, added, value);
}

void RunCheck::end_put(check::WorkId put, std::uint64_t credit, std::uint64_t value, Place place) {
  checker.learn(put, check::Clock::with_chain(nullptr, place.chain, place.operation));
  checker.publish(put, credit, 4, 1, value);
  (void)checker.end(put);
}

void RunCheck::on_bad_put(const check::Site& where, const std::string& why, int rank) {
  check::Finding finding;
  finding.kind = check::Kind::OutsideWindow;
  finding.where = where;
  finding.where.rank = rank;
  finding.message = "a GIN operation cannot be carried out: " + why;
  finding.hint = "check window, offset, bytes, signal and counter against what was registered";
  checker.add(std::move(finding));
  checker.give_up();
}

void RunCheck::on_bad_collective(const std::string& why, int rank) {
  check::Finding finding;
  finding.kind = check::Kind::Collective;
  if (works_.host.call != nullptr) finding.where = *works_.host.call;
  finding.where.rank = rank;
  finding.where.what = "collective";
  finding.message = why;
  finding.hint =
      "every rank of a communicator must make the same calls in the same order, with the "
      "same count, type, operation and root";
  checker.add(std::move(finding));
  checker.give_up();
}

void RunCheck::departed(const Session& session) {
  departed_ = check::Clock::join(departed_, session.known);
}

std::string RunCheck::json() const {
  return check::to_json(checker.findings().all());
}

}  // namespace cuco::vcluster

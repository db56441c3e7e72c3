// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/cluster.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/device/loaded_module.h"
#include "vcluster/graph/graph_memory.h"
#include "vcluster/nccl/nccl_world.h"
#include "vcluster/server/judged_requests.h"
#include "vcluster/watch/run_check.h"
#include "vcluster/watch/watchers.h"

namespace cuco::vcluster {

bool Process::sees(std::int32_t device) const {
  return std::ranges::find(devices, device) != devices.end();
}

std::string Process::name() const {
  return rank >= 0 ? fmt::format("rank {} (pid {}, {})", rank, pid, program)
                   : fmt::format("process {} (pid {}, {})", index, pid, program);
}

Result<std::unique_ptr<Cluster>> Cluster::create(ClusterOptions options) {
  std::unique_ptr<Cluster> cluster(new Cluster(std::move(options)));
  const std::uint32_t devices = cluster->devices();
  if (!cluster->options.copy_log.empty()) {
    CUCO_TRY_ASSIGN(cluster->copy_log, CopyLog::create(cluster->options.copy_log));
  }
  CUCO_TRY_ASSIGN(cluster->memory, vgpu::Memory::create(devices));
  cluster->watchers = std::make_unique<Watchers>(*cluster);
  if (cluster->options.check) {
    cluster->check = std::make_unique<RunCheck>(*cluster);
    cluster->works.is_checked = true;
  }
  for (std::uint32_t device = 0; device < devices; ++device) {
    vgpu::Environment environment;
    if (cluster->check) environment.observer = &cluster->check->checker;
    cluster->watchers->join(environment);
    environment.seed = cluster->options.seed;
    const Schedule& schedule = cluster->adversary.schedule();
    if (!schedule.gpus.empty()) environment.schedule = schedule.gpus[device];
    environment.remote = [ports = &cluster->kernel_ports, device](
                             unsigned owner, std::uint64_t bytes, bool store, VTime when) {
      return ports->access(device, owner, bytes, store, when);
    };
    cluster->gpus.push_back(std::make_unique<vgpu::Gpu>(device, cluster->options.gpu,
                                                        *cluster->memory, std::move(environment)));
  }
  cluster->nccl_ = make_nccl_world(*cluster);
  register_all_calls(*cluster);
  return cluster;
}

Cluster::Cluster(ClusterOptions wanted)
    : fabric(wanted.topology),
      kernel_ports(wanted.topology),
      options(std::move(wanted)),
      adversary(make_schedule(options.schedule_seed, devices())) {
  set_delivery_delay(options.delivery_delay);
}

Cluster::~Cluster() {
  // Graphs give memory back: while there is somebody to take it.
  for (const auto& [index, process] : processes_) {
    process->captures.clear();
    process->execs.clear();
    process->graphs.clear();
  }
}

void Cluster::set_delivery_delay(VTime delay) {
  const Schedule& schedule = adversary.schedule();
  fabric.set_lateness({.always = delay, .most = schedule.delivery_delay, .seed = schedule.seed});
}

Session& Cluster::add_session(Session::Sink sink, std::uint32_t pid) {
  const std::uint32_t number = next_session_++;
  auto session = std::make_unique<Session>(number, timeline, std::move(sink));
  session->pid = pid;
  session->set_clock(timeline.now());
  return *(sessions_[number] = std::move(session));
}

void Cluster::remove_session(Session& session) {
  Process* process = session.process;
  if (check != nullptr) check->departed(session);
  session.close();
  if (process != nullptr) {
    if (process->service == &session) process->service = nullptr;
    if (--process->sessions == 0) end_process(*process);
  }
  sessions_.erase(session.number());
}

Session* Cluster::find_session(std::uint32_t number) const {
  const auto found = sessions_.find(number);
  return found == sessions_.end() ? nullptr : found->second.get();
}

Process* Cluster::join_process(std::uint32_t pid, const std::string& program) {
  for (const auto& [index, process] : processes_) {
    if (process->pid == pid) return process.get();
  }
  std::uint32_t index = 0;
  while (processes_.contains(index))
    ++index;
  if (index >= vgpu::kMaxProcesses) return nullptr;
  auto process = std::make_unique<Process>();
  process->index = index;
  process->pid = pid;
  process->program = program;
  for (std::uint32_t device = 0; device < devices(); ++device) {
    process->devices.push_back(static_cast<std::int32_t>(device));
  }
  ++processes_seen_;
  return (processes_[index] = std::move(process)).get();
}

void Cluster::place_on_node(Process& process) const {
  const fabric::Topology& topology = options.topology;
  if (options.expected_processes < 2 || topology.nodes < 2) return;
  const auto per_node = std::max<std::uint32_t>(
      options.expected_processes / static_cast<std::uint32_t>(topology.nodes), 1);
  process.node = std::min(static_cast<std::uint32_t>(process.rank) / per_node,
                          static_cast<std::uint32_t>(topology.nodes) - 1);
  process.devices.clear();
  for (std::int32_t i = 0; i < topology.gpus_per_node; ++i) {
    process.devices.push_back(static_cast<std::int32_t>(process.node) * topology.gpus_per_node + i);
  }
}

void Cluster::end_process(Process& process) {
  nccl_->process_ended(process.index, process.name());
  if (!process.said_goodbye) casualties_.push_back(process.name());
  for (const auto& [device, context] : process.contexts) {
    const auto grids = context->grids;
    for (const std::uint64_t grid : grids) {
      gpus[static_cast<std::size_t>(device)]->kill(grid, vgpu::TrapKind::Cancelled,
                                                   "its process ended");
    }
  }
  std::vector<std::uint64_t> mine;
  for (const auto& [base, allocation] : allocations) {
    if (allocation.process == process.index && allocation.imports == 0) mine.push_back(base);
  }
  for (const std::uint64_t base : mine) {
    const GraphMemory* graph = allocations[base].graph;
    const bool is_in_use = graph == nullptr || graph->live;
    // An allocation that the memory no longer knows cannot be leaked either.
    (void)memory->free(base).has_value();
    allocations.erase(base);
    if (check != nullptr) check->abandoned(base, process.said_goodbye && is_in_use);
  }
  graveyard_.push_back(std::move(processes_[process.index]));
  processes_.erase(process.index);
}

Context* Cluster::context(Process& process, std::int32_t device) {
  if (!process.sees(device)) return nullptr;
  // A judged rank has the GPU that it was given: its peers' are theirs, however idle they are.
  if (sealed && !process.contexts.contains(device)) return nullptr;
  auto& slot = process.contexts[device];
  if (slot == nullptr) slot = std::make_unique<Context>(process, device, works);
  return slot.get();
}

void Cluster::retire(Process& process, std::int32_t device) {
  const auto found = process.contexts.find(device);
  if (found == process.contexts.end()) return;
  // Whatever it still has queued ends without effect.
  if (found->second->error == 0) found->second->error = wire::kContextIsDestroyed;
  retired_.push_back(std::move(found->second));
  process.contexts.erase(found);
  for (const auto& [id, module] : process.modules) {
    const auto program = module->programs.find(device);
    if (program == module->programs.end()) continue;
    retired_programs_.push_back(std::move(program->second));
    module->programs.erase(program);
  }
}

Stream* Cluster::stream(Session& session, const wire::StreamRef& ref) {
  if (ref.stream <= wire::kPerThreadStream) {
    Context* here = context(*session.process, ref.device);
    if (here == nullptr) return nullptr;
    return ref.stream == wire::kPerThreadStream ? &here->streams.per_thread(session.thread)
                                                : &here->streams.legacy();
  }
  for (const auto& [device, here] : session.process->contexts) {
    if (Stream* found = here->streams.find(ref.stream)) return found;
  }
  return nullptr;
}

void Cluster::deliver(Session& session, wire::Frame frame) {
  const Dispatcher::Entry* entry = dispatcher.find(frame.header.type);
  if (entry == nullptr) {
    session.refuse(fmt::format("there is no message {:#x}", frame.header.type));
    return;
  }
  if (judged) {
    if (auto reason = house_rule_against(*this, session, frame)) {
      return session.refuse(*std::move(reason));
    }
  }
  const bool is_hello = frame.header.type == wire::Hello::kType;
  if (is_hello == (session.process != nullptr)) {
    session.refuse(is_hello ? "a second hello" : "no hello before the first request");
    return;
  }
  if (session.state() != Session::State::Running && session.state() != Session::State::Outside) {
    session.refuse("a request before the answer to the last one");
    return;
  }
  if (check != nullptr && session.state() == Session::State::Outside)
    check->learn_from_all(session);
  const bool one_way = entry->turn == Turn::OneWay;
  session.accept(std::move(frame), one_way);
  if (!entry->in_time()) serve(session, *entry);
}

void Cluster::serve(Session& session, const Dispatcher::Entry& entry) {
  if (entry.turn == Turn::InTime) session.stop_polling();
  VTime cost = entry.turn == Turn::Poll ? session.poll_cost(entry.cost) : entry.cost;
  if (!adversary.schedule().is_plain() && session.process != nullptr) {
    cost += adversary.call_delay(session.process->rank, session.thread, session.calls++);
  }
  session.begin(cost);
  if (check == nullptr) return entry.serve(session);
  works.host = {session.known, check->call_of(session)};
  entry.serve(session);
  works.host = {};
}

const Allocation* Cluster::find_allocation(std::uint64_t address, std::uint64_t* base) const {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) return nullptr;
  --after;
  if (address - after->first >= std::max<std::uint64_t>(after->second.bytes, 1)) return nullptr;
  if (base != nullptr) *base = after->first;
  return &after->second;
}

void Cluster::release(std::uint64_t address) {
  if (check != nullptr) return check->freed(address, works.host.call);
  // It was checked when the call was made; a second free of it finds nothing.
  (void)memory->free(address).has_value();
}

bool Cluster::accessible(const Process& process, std::uint64_t address, std::uint64_t bytes) const {
  std::uint64_t base = 0;
  if (const Allocation* allocation = find_allocation(address, &base)) {
    // All processes' memory has an address here; on a real machine only what was shared has one.
    if (allocation->process != process.index && allocation->imports == 0) return false;
    return bytes <= allocation->bytes - (address - base);
  }
  // Variables of modules and views of windows are known to the memory alone.
  return address + bytes >= address && memory->valid(address, bytes);
}

void Cluster::reply_status(Session& session, const Context* context, std::int32_t status) {
  if (context != nullptr && context->error != 0) status = context->error | wire::kStickyFlag;
  if (!session.process->output.empty()) status |= wire::kOutputFlag;
  session.reply(status);
}

void Cluster::reply_when_done(Session& session,
                              std::span<const WorkPtr> works_to_wait,
                              Context* context,
                              std::string what) {
  session.park(CallWait{std::move(what)});
  // The session may be gone by then: look it up again.
  std::vector<WorkPtr> waited;
  if (check != nullptr) waited.assign(works_to_wait.begin(), works_to_wait.end());
  works.when_done(works_to_wait,
                  [this, number = session.number(), context, waited = std::move(waited)] {
                    Session* waiting = find_session(number);
                    if (waiting == nullptr) return;
                    waiting->learn(waited);
                    reply_status(*waiting, context, wire::kSuccess);
                  });
}

void Cluster::ask_process(Process& process, ServiceJob job) {
  job.request.ticket = next_ticket_++;
  process.jobs.push_back(std::move(job));
  serve_jobs(process);
}

void Cluster::serve_jobs(Process& process) {
  Session* service = process.service;
  if (service == nullptr || service->state() != Session::State::Idle || process.jobs.empty()) {
    return;
  }
  ServiceJob job = std::move(process.jobs.front());
  process.jobs.pop_front();
  if (job.prepare) job.prepare(*service);
  const wire::NextService::Reply request = job.request;
  process.jobs_out[request.ticket] = std::move(job);
  service->reply_with(wire::kSuccess, request);
}

}  // namespace cuco::vcluster

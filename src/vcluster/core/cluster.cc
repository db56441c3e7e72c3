// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/cluster.h"

#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "vcluster/calls/calls.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/mpi/mail_room.h"
#include "vcluster/nccl/nccl_world.h"
#include "vcluster/server/judge_seat.h"
#include "vcluster/server/judged_requests.h"
#include "vcluster/watch/run_check.h"
#include "vcluster/watch/watchers.h"

namespace cuco::vcluster {

Result<std::unique_ptr<Cluster>> Cluster::create(const ClusterOptions& options) {
  std::unique_ptr<Cluster> cluster(new Cluster(options));
  CUCO_TRY(cluster->make_parts());
  cluster->register_calls();
  return cluster;
}

Cluster::Cluster(const ClusterOptions& options) : options_(options) {}

Cluster::~Cluster() {
  // Graphs give memory back: while there is somebody to take it.
  processes_.clear();
}

// In the order in which parts need each other: observers need the memory, GPUs their observers,
// allocations and NCCL the check, operations all of them.
Result<void> Cluster::make_parts() {
  CUCO_TRY_ASSIGN(devices_, Devices::create(options_));
  watchers_ = std::make_unique<Watchers>(options_, *devices_, works_);
  sessions_.calls = watchers_->calls();
  if (options_.check) {
    check_ = std::make_unique<RunCheck>(*devices_, works_, sessions_, processes_);
    works_.is_checked = true;
  }
  devices_->add_gpus([this](vgpu::Environment& environment) {
    if (check_) environment.observer = &check_->checker;
    watchers_->join(environment);
  });
  allocations_ = std::make_unique<Allocations>(*devices_, works_, check_.get());
  if (BlockTrace* trace = watchers_->blocks()) {
    trace->know(devices_->memory(),
                [this](std::uint64_t address) -> std::optional<BlockTrace::Held> {
                  std::uint64_t base = 0;
                  const Allocation* found = allocations_->holder(address, &base);
                  if (found == nullptr) return std::nullopt;
                  return BlockTrace::Held{
                      base, {found->number, found->bytes, found->device, found->process}};
                });
  }
  nccl_ = std::make_unique<NcclWorld>(NcclServices{
      .timeline = timeline_,
      .works = works_,
      .memory = devices_->memory(),
      .fabric = devices_->fabric(),
      .log = [](const std::string& line) { fmt::print(stderr, "cuco: {}\n", printable(line)); },
      .fail_device =
          [this](int device, const std::string& why) {
            fail_device(*devices_, processes_, device, why);
          },
      .sources = {.some_early = devices_->schedule().early_sources,
                  .seed = devices_->schedule().seed},
      .deliveries = watchers_->deliveries(),
      .check = check_.get(),
      .types = devices_->written_types(),
      .trace = watchers_->blocks(),
      .take_sms =
          [this](int device, int sms, VTime until) {
            devices_->gpu(device).take_sms(static_cast<std::uint32_t>(sms), until);
          }});
  operations_ = std::make_unique<Operations>(
      OperationParts{timeline_, works_, *devices_, *allocations_, sessions_, processes_, *nccl_,
                     ids_, check_.get(), watchers_->blocks()});
  return {};
}

void Cluster::register_calls() {
  const StreamParts streams{*operations_, processes_, replies_, ids_};
  const GraphParts graphs{*operations_, processes_, *allocations_, works_, ids_, check_.get()};
  register_host_calls(dispatcher_,
                      {processes_, sessions_, *devices_, repeat_notice_, check_.get()});
  register_host_sync_calls(dispatcher_, host_sync_);
  register_mail_calls(dispatcher_, sessions_);
  register_device_calls(dispatcher_, {*devices_, *allocations_, processes_, replies_});
  register_memory_calls(dispatcher_, graphs, sessions_, devices_->memory());
  register_pool_calls(dispatcher_, *allocations_, ids_);
  register_ipc_calls(dispatcher_, *allocations_, processes_, options_.topology);
  register_copy_calls(dispatcher_, streams);
  register_stream_calls(dispatcher_, streams);
  register_event_calls(dispatcher_, streams);
  register_capture_calls(dispatcher_, streams);
  register_graph_calls(dispatcher_, graphs);
  register_module_calls(dispatcher_,
                        {*devices_, *allocations_, processes_, *operations_, ids_, check_.get()});
  register_nccl_calls(
      dispatcher_, {*nccl_, *devices_, *allocations_, processes_, sessions_, works_, check_.get()});
}

JudgeParts Cluster::judge_parts() {
  return {.options = options_,
          .dispatcher = dispatcher_,
          .timeline = timeline_,
          .works = works_,
          .devices = *devices_,
          .allocations = *allocations_,
          .sessions = sessions_,
          .processes = processes_,
          .watchers = *watchers_,
          .run = judged_run_,
          .check = check_.get()};
}

void Cluster::remove_session(Session& session) {
  Process* process = session.process;
  if (check_) check_->departed(session);
  session.close();
  if (process != nullptr) {
    if (process->service == &session) process->service = nullptr;
    if (--process->sessions == 0) end_process(*process);
  }
  sessions_.erase(session);
}

void Cluster::end_process(Process& process) {
  // Its peers learn of it first, while its communicators still have names.
  nccl_->process_ended(process.index, process.name());
  if (!process.said_goodbye) processes_.add_lost(process.name());
  if (check_ && process.said_goodbye) warn_of_pending_work(process);
  for (const auto& [device, context] : process.contexts) {
    const auto grids = context->grids;
    for (const std::uint64_t grid : grids) {
      devices_->gpu(device).kill(grid, vgpu::TrapKind::Cancelled, "its process ended");
    }
  }
  allocations_->abandon(process);
  processes_.end(process);
}

// What its streams still had to do is never done, so it was not checked either.
void Cluster::warn_of_pending_work(const Process& process) {
  std::size_t pending = 0;
  std::string first;
  for (const auto& [device, context] : process.contexts) {
    for (const WorkPtr& work : context->streams.unfinished()) {
      if (work->done()) continue;
      if (pending++ == 0) first = describe(*work);
    }
  }
  if (pending == 0) return;
  fmt::print(stderr,
             "cuco: warning: {} ended while its streams had work to do ({}{}): what was not done "
             "was not checked; synchronise before the end\n",
             process.name(), printable(first),
             pending == 1 ? "" : fmt::format(", in {} streams", pending));
}

void Cluster::deliver(Session& session, wire::Frame frame) {
  const Dispatcher::Entry* entry = dispatcher_.find(frame.header.type);
  if (entry == nullptr) {
    session.refuse(fmt::format("there is no message {:#x}", frame.header.type));
    return;
  }
  // The sender may be a candidate that writes to its socket what it likes.
  if (judged_run_.is_judged()) {
    if (auto reason = why_not_in_judged_run(processes_, session, frame)) {
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
  if (check_ && session.state() == Session::State::Outside) check_->learn_from_all(session);
  session.accept(std::move(frame), entry->turn == Turn::OneWay);
  if (!entry->in_time()) serve(session, *entry);
}

void Cluster::serve(Session& session, const Dispatcher::Entry& entry) {
  if (entry.turn == Turn::InTime) session.stop_polling();
  VTime cost = entry.turn == Turn::Poll ? session.poll_cost(entry.cost) : entry.cost;
  if (!devices_->schedule().is_plain() && session.process != nullptr) {
    cost +=
        devices_->adversary().call_delay(session.process->rank, session.thread, session.calls++);
  }
  session.enter(entry.name);
  session.begin(cost);
  // Whatever the handler hands in comes after what this thread knows.
  if (!check_) return entry.serve(session);
  works_.host = {session.known, check_->call_of(session)};
  entry.serve(session);
  works_.host = {};
}

}  // namespace cuco::vcluster

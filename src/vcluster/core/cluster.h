// SPDX-License-Identifier: Apache-2.0
/// \file
/// The virtual cluster's state: GPUs, memory, processes, time. Handlers work on it; server.h feeds
/// it; nothing in it touches a socket, so that tests can drive it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/fabric.h"
#include "hardware/gpu_description.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/messages_stream.h"
#include "vcluster/calls/dispatch.h"
#include "vcluster/core/client_process.h"
#include "vcluster/core/cluster_schedule.h"
#include "vcluster/core/host_sync.h"
#include "vcluster/core/session.h"
#include "vcluster/core/timeline.h"
#include "vcluster/core/waits.h"
#include "vcluster/core/work.h"
#include "vcluster/device/copy_log.h"
#include "vcluster/device/kernel_ports.h"
#include "vgpu/gpu/gpu.h"
#include "vgpu/memory/memory.h"

namespace cuco::vcluster {

class GraphMemory;
class NcclWorld;
class Watchers;
class RunCheck;

struct ClusterOptions {
  hardware::GpuDescription gpu;
  fabric::Topology topology = fabric::single_node(1);
  std::uint64_t seed = 0;
  /// Nothing moves before this many processes have said hello, and none of them is missed.
  std::uint32_t expected_processes = 1;
  std::uint64_t schedule_seed = 0;  ///< See schedule.h; 0: the plain schedule.
  VTime delivery_delay = 0;         ///< Every delivery between GPUs comes so much later: a probe.
  system::Path report;    ///< What kernels did, as JSON, when all is over: see run_report.h.
  system::Path copy_log;  ///< What came back from devices, one line per copy; empty: none.
  bool check = false;     ///< Watch every access: see run_check.h.
};

/// What the server knows about an allocation beyond vgpu::Memory.
struct Allocation {
  std::uint64_t bytes = 0;
  wire::MemoryKind kind = wire::MemoryKind::Device;
  std::int32_t device = 0;
  std::uint32_t flags = 0;
  std::uint32_t process = 0;
  std::uint64_t pool = 0;
  std::uint32_t imports = 0;     ///< Other processes that opened it.
  GraphMemory* graph = nullptr;  ///< The node that it belongs to, if any.
  bool orphaned = false;         ///< Its graph is gone; work in flight may still use it.
};

class Cluster {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> create(ClusterOptions options);
  ~Cluster();

  // Parts that handlers use directly.
  Timeline timeline;
  WorkGraph works{timeline};
  std::unique_ptr<vgpu::Memory> memory;
  std::vector<std::unique_ptr<vgpu::Gpu>> gpus;
  fabric::Fabric fabric;
  KernelPorts kernel_ports;
  std::map<std::uint64_t, Allocation> allocations;              ///< By base address.
  std::map<std::uint64_t, std::weak_ptr<Event>> shared_events;  ///< Exported by cudaIpc.
  Dispatcher dispatcher;
  const ClusterOptions options;
  Adversary adversary;
  std::unique_ptr<CopyLog> copy_log;   ///< Null: nobody asked.
  std::unique_ptr<Watchers> watchers;  ///< Those who look at kernels from inside.
  HostSync host_sync{*this};
  std::unique_ptr<RunCheck> check;  ///< Null: an ordinary run.
  [[nodiscard]] NcclWorld& nccl() const { return *nccl_; }
  /// From now on, every delivery between GPUs comes so much later than the links say.
  void set_delivery_delay(VTime delay);
  bool judged = false;     ///< The judge has a seat: see house_rules.h.
  bool sealed = false;     ///< The ranks' processes are the candidate's: nobody joins any more.
  bool held = false;       ///< The judge has all ranks, and prepares: nothing moves.
  bool repeatable = true;  ///< False once something outside the server's sight decided an order.

  // Sessions and processes.
  Session& add_session(Session::Sink sink, std::uint32_t pid);
  void remove_session(Session& session);
  [[nodiscard]] const std::map<std::uint32_t, std::unique_ptr<Session>>& sessions() const {
    return sessions_;
  }
  [[nodiscard]] const std::map<std::uint32_t, std::unique_ptr<Process>>& processes() const {
    return processes_;
  }
  /// The process with that pid, made if it is new; null if there is no room for more.
  Process* join_process(std::uint32_t pid, const std::string& program);
  /// One of several rank processes sees the devices of its node only; ranks fill nodes in order.
  void place_on_node(Process& process) const;
  [[nodiscard]] std::uint32_t processes_seen() const { return processes_seen_; }
  /// Processes that vanished without a goodbye.
  [[nodiscard]] const std::vector<std::string>& casualties() const { return casualties_; }
  void add_casualty(std::string line) { casualties_.push_back(std::move(line)); }

  /// The process's context on a device it can see; null otherwise.
  Context* context(Process& process, std::int32_t device);
  /// Drops a context after a reset; the next use makes a fresh one.
  void retire(Process& process, std::int32_t device);
  /// Resolves a stream of the session's process; null: no such stream.
  Stream* stream(Session& session, const wire::StreamRef& ref);
  [[nodiscard]] std::uint32_t devices() const {
    return static_cast<std::uint32_t>(options.topology.gpus());
  }
  [[nodiscard]] Session* find_session(std::uint32_t number) const;
  [[nodiscard]] std::uint64_t new_id() { return next_id_++; }

  /// Delivers a request: serves it at once or leaves it pending.
  void deliver(Session& session, wire::Frame frame);

  /// Gives memory of an allocation back; a checked run keeps it aside for a while, so that uses
  /// after it are found.
  void release(std::uint64_t address);
  /// May a request of this process touch these bytes? Exact to the byte for allocations.
  [[nodiscard]] bool accessible(const Process& process,
                                std::uint64_t address,
                                std::uint64_t bytes) const;
  /// The allocation that holds the address.
  [[nodiscard]] const Allocation* find_allocation(std::uint64_t address,
                                                  std::uint64_t* base = nullptr) const;

  /// Parks the session until all works are done, then replies with its context's state.
  void reply_when_done(Session& session,
                       std::span<const WorkPtr> works_to_wait,
                       Context* context,
                       std::string what);
  /// Replies with `status`, or with the context's sticky error, and marks waiting output.
  void reply_status(Session& session, const Context* context, std::int32_t status);

  /// Has the process do something, in the order asked for.
  void ask_process(Process& process, ServiceJob job);
  void serve_jobs(Process& process);

  /// Is a host thread running, so that the simulation has to wait for it?
  [[nodiscard]] bool must_wait() const;
  /// Does the one thing with the lowest time. False: nothing can happen.
  bool advance();
  /// Who waits for what.
  [[nodiscard]] std::vector<ClusterWait> waits() const;

 private:
  explicit Cluster(ClusterOptions wanted);
  void end_process(Process& process);
  void serve(Session& session, const Dispatcher::Entry& entry);
  /// What NCCL keeps at an address that a kernel waits for: "signal 0 of rank 1…".
  [[nodiscard]] std::optional<std::string> name_awaited(const vgpu::Wait& wait) const;

  std::unique_ptr<NcclWorld> nccl_;
  std::map<std::uint32_t, std::unique_ptr<Session>> sessions_;
  std::map<std::uint32_t, std::unique_ptr<Process>> processes_;
  /// Ended processes: works in flight may still point into them.
  std::vector<std::unique_ptr<Process>> graveyard_;
  std::vector<std::unique_ptr<Context>> retired_;
  std::vector<std::unique_ptr<vgpu::Program>> retired_programs_;
  std::vector<std::string> casualties_;
  std::uint32_t next_session_ = 0;
  std::uint32_t processes_seen_ = 0;
  std::uint64_t next_id_ = 16;  ///< Low numbers are CUDA's special streams.
  std::uint64_t next_ticket_ = 1;
};

}  // namespace cuco::vcluster

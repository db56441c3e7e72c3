// SPDX-License-Identifier: Apache-2.0
/// \file
/// A rank process and its contexts, one per device it uses.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shims/wire/messages_host.h"
#include "vcluster/core/stream.h"
#include "vcluster/host/session.h"

namespace cuco::vcluster {

struct Module;
struct Function;
struct Graph;
struct GraphExec;
struct Capture;

/// What one process has on one device.
struct Context {
  Context(Process& owner, std::int32_t on, WorkGraph& works)
      : process(&owner), device(on), streams(*this, works) {}

  Process* process;
  std::int32_t device;
  StreamSet streams;
  std::int32_t error = 0;   ///< Not 0: a kernel trapped; every call fails with it until a reset.
  std::uint64_t peers = 0;  ///< Bit d: access to memory of device d was enabled.
  std::map<std::uint32_t, std::uint64_t> limits;
  std::set<std::uint64_t> grids;  ///< On the GPU now.
};

/// Something only the rank process itself can do.
struct ServiceJob {
  wire::NextService::Reply request;
  std::function<void(Session& service)> prepare;  ///< Before it is handed out; may be empty.
  std::function<void(Session& service)> done;
};

/// Text a kernel printed, for the process's own stdout (1) or stderr (2).
struct DeviceOutput {
  std::uint32_t stream = 1;
  std::string text;
};

/// A pool of cudaMallocAsync: it only counts.
struct MemoryPool {
  std::int32_t device = 0;
  std::uint64_t high = 0;
  std::map<std::uint32_t, std::uint64_t> attributes;
};
/// What the graphs of a process hold of a device's memory.
struct GraphMemoryUse {
  std::uint64_t used_high = 0;
  std::uint64_t reserved = 0;  ///< Kept for the next launch, until trimmed.
  std::uint64_t reserved_high = 0;
};
/// The `pool` of memory that came from the device's own pool; 0 is not from a pool at all.
inline constexpr std::uint64_t kDefaultPool = 1;

/// How long a kernel ran, and how it filled the GPU.
struct KernelFilling {
  VTime time = 0;
  double blocks_per_sm = 0;  ///< In all.
  double waves = 0;          ///< The same, divided by how many fit on an SM at once.
};

struct Process {
  std::uint32_t index = 0;
  std::uint32_t pid = 0;
  std::int32_t rank = -1;
  std::uint32_t node = 0;
  std::string program;
  std::vector<std::int32_t> devices;  ///< Those it can see, in its order.
  bool said_goodbye = false;
  std::uint32_t sessions = 0;
  std::uint32_t threads = 0;  ///< Ever connected.

  std::map<std::int32_t, std::unique_ptr<Context>> contexts;
  std::map<std::uint64_t, EventPtr> events;
  std::map<std::uint64_t, std::shared_ptr<Module>> modules;      // shared with works in flight
  std::map<std::uint64_t, std::shared_ptr<Function>> functions;  // likewise

  std::map<std::uint64_t, std::shared_ptr<Graph>> graphs;  // shared with captures, child nodes
  std::map<std::uint64_t, std::shared_ptr<GraphExec>> execs;
  std::vector<std::shared_ptr<Capture>> captures;  ///< Open ones.

  std::map<std::uint64_t, MemoryPool> pools;
  std::map<std::int32_t, std::uint64_t> default_pools;  ///< By device.

  std::map<std::int32_t, GraphMemoryUse> graph_memory;  ///< By device.

  std::uint64_t copied_to_host = 0;  ///< Bytes, ever.
  KernelFilling longest_kernel;      ///< Since the judge's last command.

  Session* service = nullptr;
  std::deque<ServiceJob> jobs;
  std::map<std::uint64_t, ServiceJob> jobs_out;
  std::deque<DeviceOutput> output;

  [[nodiscard]] bool sees(std::int32_t device) const;
  /// Our own words for its standard error, which quote the program's: names, files, conditions.
  void tell(std::string_view text);
  /// Everything it has in flight anywhere: memory may be used from other devices.
  [[nodiscard]] std::vector<WorkPtr> unfinished() const;
  /// "rank 3 (pid 812, ./prog)" or "process 0 (pid 812, ./prog)".
  [[nodiscard]] std::string name() const;
};

}  // namespace cuco::vcluster

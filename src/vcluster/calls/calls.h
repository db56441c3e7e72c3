// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every subject of the protocol registers its handlers here, with the parts of the cluster that
/// they work on. All parts outlive the dispatcher.
#pragma once

#include <string>

#include "fabric/topology.h"
#include "vcluster/calls/dispatch.h"
#include "vgpu/memory/memory.h"

namespace cuco::vcluster {

class Allocations;
class Devices;
class HostSync;
class Ids;
class NcclWorld;
class Operations;
class Processes;
class RepeatNotice;
class Replies;
class RunCheck;
class Sessions;
class WorkGraph;
struct GraphParts;

// A null `check` is an ordinary run.

struct HostParts {
  Processes& processes;
  const Sessions& sessions;
  Devices& devices;
  RepeatNotice& repeat_notice;
  RunCheck* check = nullptr;
};
void register_host_calls(Dispatcher& dispatcher, const HostParts& parts);
void register_host_sync_calls(Dispatcher& dispatcher, HostSync& sync);

struct DeviceParts {
  const Devices& devices;
  Allocations& allocations;
  Processes& processes;
  const Replies& replies;
};
void register_device_calls(Dispatcher& dispatcher, const DeviceParts& parts);
void register_memory_calls(Dispatcher& dispatcher,
                           const GraphParts& parts,
                           const Sessions& sessions,
                           const vgpu::Memory& memory);
void register_pool_calls(Dispatcher& dispatcher, const Allocations& allocations, Ids& ids);
void register_ipc_calls(Dispatcher& dispatcher,
                        Allocations& allocations,
                        Processes& processes,
                        const fabric::Topology& topology);

struct StreamParts {
  const Operations& operations;
  Processes& processes;
  const Replies& replies;
  Ids& ids;
};
void register_copy_calls(Dispatcher& dispatcher, const StreamParts& parts);
void register_stream_calls(Dispatcher& dispatcher, const StreamParts& parts);
void register_event_calls(Dispatcher& dispatcher, const StreamParts& parts);
void register_capture_calls(Dispatcher& dispatcher, const StreamParts& parts);
void register_graph_calls(Dispatcher& dispatcher, const GraphParts& parts);

struct ModuleParts {
  const Devices& devices;
  Allocations& allocations;
  Processes& processes;
  const Operations& operations;
  Ids& ids;
  RunCheck* check = nullptr;
};
void register_module_calls(Dispatcher& dispatcher, const ModuleParts& parts);

struct NcclParts {
  NcclWorld& nccl;
  const Devices& devices;
  Allocations& allocations;
  Processes& processes;
  const Sessions& sessions;
  const WorkGraph& works;
  RunCheck* check = nullptr;
};
void register_nccl_calls(Dispatcher& dispatcher, const NcclParts& parts);
/// Ends the kernels that run on a device, as a trap of their own would.
void fail_device(const Devices& devices,
                 const Processes& processes,
                 int device,
                 const std::string& why);

}  // namespace cuco::vcluster

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every subject of the protocol registers its handlers here.
#pragma once

#include <memory>

namespace cuco::vcluster {

class Cluster;
class NcclWorld;

void register_host_calls(Cluster& cluster);
void register_host_sync_calls(Cluster& cluster);
void register_device_calls(Cluster& cluster);
void register_memory_calls(Cluster& cluster);
void register_copy_calls(Cluster& cluster);
void register_stream_calls(Cluster& cluster);
void register_event_calls(Cluster& cluster);
void register_module_calls(Cluster& cluster);
void register_pool_calls(Cluster& cluster);
void register_graph_calls(Cluster& cluster);
void register_capture_calls(Cluster& cluster);
void register_ipc_calls(Cluster& cluster);
void register_nccl_calls(Cluster& cluster);

void register_all_calls(Cluster& cluster);

/// NCCL on this cluster's memory, fabric and clock.
[[nodiscard]] std::unique_ptr<NcclWorld> make_nccl_world(Cluster& cluster);

}  // namespace cuco::vcluster

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every subject of the protocol registers its handlers here.
#pragma once

namespace cuco::vcluster {

class Cluster;

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

void register_all_calls(Cluster& cluster);

}  // namespace cuco::vcluster

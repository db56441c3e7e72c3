// SPDX-License-Identifier: Apache-2.0
#include "vcluster/calls/calls.h"

namespace cuco::vcluster {

void register_all_calls(Cluster& cluster) {
  register_host_calls(cluster);
  register_host_sync_calls(cluster);
  register_device_calls(cluster);
  register_memory_calls(cluster);
  register_copy_calls(cluster);
  register_stream_calls(cluster);
  register_event_calls(cluster);
  register_module_calls(cluster);
  register_graph_calls(cluster);
  register_capture_calls(cluster);
  register_pool_calls(cluster);
  register_ipc_calls(cluster);
  register_nccl_calls(cluster);
}

}  // namespace cuco::vcluster

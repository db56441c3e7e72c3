// SPDX-License-Identifier: Apache-2.0
/// \file
/// The binary interface of the CUDA 13 runtime, as far as this library needs it.
///
/// Written here so that the project builds where there is no CUDA; tests/e2e/abi_layout.cc compares
/// every structure and number with the toolkit's headers where there is one. Handles are opaque to
/// programs: here they are numbers of the virtual cluster dressed as pointers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cuco::cudart {

using Error = int;  ///< cudaError_t; values in wire/status.h.
inline constexpr Error kNoDevice = 100;

using StreamHandle = struct OpaqueStream*;
using EventHandle = struct OpaqueEvent*;
using GraphHandle = struct OpaqueGraph*;
using NodeHandle = struct OpaqueNode*;
using ExecHandle = struct OpaqueExec*;
using PoolHandle = struct OpaquePool*;
using LibraryHandle = struct OpaqueLibrary*;
using HostFunction = void (*)(void* argument);
using StreamCallback = void (*)(StreamHandle stream, Error status, void* argument);

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

enum CopyKind : int {
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kDefaultKind = 4,
};

struct Extent {
  std::size_t width, height, depth;
};

struct Position {
  std::size_t x, y, z;
};

struct PitchedPointer {
  void* ptr;
  std::size_t pitch, xsize, ysize;
};

struct Copy3d {
  void* src_array;
  Position src_pos;
  PitchedPointer src;
  void* dst_array;
  Position dst_pos;
  PitchedPointer dst;
  Extent extent;
  int kind;
};

struct Copy3dPeer {
  void* src_array;
  Position src_pos;
  PitchedPointer src;
  int src_device;
  void* dst_array;
  Position dst_pos;
  PitchedPointer dst;
  int dst_device;
  Extent extent;
};

struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];
};

struct FunctionAttributes {
  std::size_t shared_bytes;
  std::size_t const_bytes;
  std::size_t local_bytes;
  int max_threads;
  int registers;
  int ptx_version;
  int binary_version;
  int cache_mode_ca;
  int max_dynamic_shared;
  int preferred_carveout;
  int cluster_must_be_set;
  int cluster_width, cluster_height, cluster_depth;
  int cluster_policy;
  int non_portable_cluster;
  int reserved[16];
};

union LaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned x, y, z;
  } cluster;
  int priority;
  int serialization_allowed;
};

enum LaunchAttributeId : int {
  kAttributeCooperative = 2,
  kAttributeCluster = 4,
  kAttributeProgrammaticSerialization = 6,
  kAttributeProgrammaticEvent = 7,
  kAttributePriority = 8,
};

struct LaunchAttribute {
  int id;
  char pad[4];
  LaunchAttributeValue value;
};

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  std::size_t dynamic_smem;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct MemoryLocation {
  int type;
  int id;
};

struct MemoryAccess {
  MemoryLocation location;
  int flags;
};

struct PoolProperties {
  int allocation_type;
  int handle_types;
  MemoryLocation location;
  void* security;
  std::size_t max_bytes;
  unsigned short usage;
  unsigned char reserved[54];
};

struct KernelNode {
  void* function;
  Dim3 grid;
  Dim3 block;
  unsigned dynamic_smem;
  void** arguments;
  void** extra;
};

struct FillNode {
  void* dst;
  std::size_t pitch;
  unsigned value;
  unsigned element_bytes;
  std::size_t width;
  std::size_t height;
};

struct HostNode {
  HostFunction function;
  void* argument;
};

struct AllocationNode {
  PoolProperties pool;
  const MemoryAccess* access;
  std::size_t access_count;
  std::size_t bytes;
  void* address;
};

struct GraphEdge {
  unsigned char from_port, to_port, type, reserved[5];

  /// What depends on it may begin before its origin has ended.
  [[nodiscard]] bool is_programmatic() const { return type != 0 || from_port != 0; }
};

[[nodiscard]] inline std::uint32_t begins_early(const GraphEdge* edges, std::size_t count) {
  return edges != nullptr && std::any_of(edges, edges + count,
                                         [](const GraphEdge& e) { return e.is_programmatic(); })
             ? 1
             : 0;
}

// cudaGraphNodeType
inline constexpr int kAllocationNode = 10;
inline constexpr int kFreeNode = 11;

struct NodeParameters {
  int type;
  int reserved0[3];
  union {
    long long reserved1[29];
    KernelNode kernel;
    struct {
      int flags;
      int reserved[3];
      Copy3d copy;
    } memcpy;
    FillNode memset;
    HostNode host;
    struct {
      GraphHandle graph;
      int ownership;
    } child;
    struct {
      EventHandle event;
    } event;
    AllocationNode allocation;
    struct {
      void* address;
    } free;
  };
  long long reserved2;
};

struct UpdateResult {
  int result;
  NodeHandle error_node;
  NodeHandle error_from_node;
};

struct InstantiateParameters {
  unsigned long long flags;
  StreamHandle upload_stream;
  NodeHandle error_node;
  int result;
};

struct IpcHandle {
  char bytes[64];
};

struct Uuid {
  char bytes[16];
};

struct DeviceProperties {
  char name[256];
  Uuid uuid;
  char luid[8];
  unsigned luid_node_mask;
  std::size_t total_memory;
  std::size_t shared_per_block;
  int registers_per_block;
  int warp_size;
  std::size_t max_pitch;
  int max_threads_per_block;
  int max_block[3];
  int max_grid[3];
  std::size_t const_bytes;
  int major;
  int minor;
  std::size_t texture_alignment;
  std::size_t texture_pitch_alignment;
  int multiprocessors;
  int integrated;
  int can_map_host_memory;
  int textures_and_surfaces[39];  ///< All zero: there are none.
  std::size_t surface_alignment;
  int concurrent_kernels;
  int ecc;
  int pci_bus;
  int pci_device;
  int pci_domain;
  int tcc;
  int async_engines;
  int unified_addressing;
  int memory_bus_bits;
  int l2_bytes;
  int persisting_l2_bytes;
  int threads_per_multiprocessor;
  int stream_priorities;
  int global_l1;
  int local_l1;
  std::size_t shared_per_multiprocessor;
  int registers_per_multiprocessor;
  int managed_memory;
  int multi_gpu_board;
  int multi_gpu_board_group;
  int host_native_atomics;
  int pageable_access;
  int concurrent_managed_access;
  int compute_preemption;
  int can_use_host_pointer;
  int cooperative_launch;
  std::size_t shared_per_block_optin;
  int pageable_uses_host_tables;
  int direct_managed_from_host;
  int blocks_per_multiprocessor;
  int access_policy_window;
  std::size_t reserved_shared_per_block;
  int host_register;
  int sparse_arrays;
  int host_register_read_only;
  int timeline_semaphores;
  int memory_pools;
  int gpu_direct_rdma;
  unsigned gpu_direct_flush_options;
  int gpu_direct_ordering;
  unsigned pool_handle_types;
  int deferred_arrays;
  int ipc_events;
  int cluster_launch;
  int unified_function_pointers;
  int numa_config;
  int numa_id;
  int mps;
  int host_numa_id;
  unsigned gpu_pci_device;
  unsigned gpu_pci_subsystem;
  int host_numa_ipc;
  int reserved[56];
};

/// Marks a function of the real library.
#define CUCO_CUDART extern "C" __attribute__((visibility("default")))

template <typename Handle>
[[nodiscard]] std::uint64_t number_of(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}
template <typename Handle>
[[nodiscard]] Handle handle_of(std::uint64_t number) {
  return reinterpret_cast<Handle>(number);
}

}  // namespace cuco::cudart

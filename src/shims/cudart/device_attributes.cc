// SPDX-License-Identifier: Apache-2.0
#include "shims/cudart/device_attributes.h"

#include <cstring>

namespace cuco::cudart {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxPitch = 0x7FFFFFFF;
constexpr int kConstBytes = 65536;
constexpr int kTextureAlignment = 512;

int whole(std::uint64_t value) {
  return value > 0x7FFFFFFF ? 0x7FFFFFFF : static_cast<int>(value);
}

}  // namespace

DeviceProperties properties_of(const wire::DeviceInfo& info) {
  DeviceProperties p{};
  std::memcpy(p.name, info.name, sizeof info.name);
  std::memcpy(p.uuid.bytes, info.uuid, sizeof p.uuid.bytes);
  p.total_memory = info.total_memory;
  p.shared_per_block = info.smem_per_block;
  p.registers_per_block = whole(info.registers_per_sm);
  p.warp_size = 32;
  p.max_pitch = kMaxPitch;
  p.max_threads_per_block = kMaxThreads;
  p.max_block[0] = p.max_block[1] = kMaxThreads;
  p.max_block[2] = 64;
  p.max_grid[0] = 0x7FFFFFFF;
  p.max_grid[1] = p.max_grid[2] = 65535;
  p.const_bytes = kConstBytes;
  p.major = whole(info.major);
  p.minor = whole(info.minor);
  p.texture_alignment = kTextureAlignment;
  p.texture_pitch_alignment = 32;
  p.multiprocessors = whole(info.sm_count);
  p.can_map_host_memory = 1;
  p.surface_alignment = kTextureAlignment;
  p.concurrent_kernels = 1;
  p.ecc = 1;
  p.pci_bus = whole(info.pci_bus);
  p.pci_device = whole(info.pci_device);
  p.pci_domain = whole(info.pci_domain);
  p.async_engines = 3;
  p.unified_addressing = 1;
  p.memory_bus_bits = whole(info.memory_bus_bits);
  p.l2_bytes = whole(info.l2_bytes);
  p.persisting_l2_bytes = whole(info.l2_bytes / 8 * 5);
  p.threads_per_multiprocessor = whole(info.threads_per_sm);
  p.stream_priorities = 1;
  p.global_l1 = p.local_l1 = 1;
  p.shared_per_multiprocessor = info.smem_per_sm;
  p.registers_per_multiprocessor = whole(info.registers_per_sm);
  p.managed_memory = 1;
  p.multi_gpu_board_group = whole(info.pci_bus);
  p.concurrent_managed_access = 1;
  p.compute_preemption = 1;
  p.cooperative_launch = 1;
  p.shared_per_block_optin = info.smem_per_block_optin;
  p.blocks_per_multiprocessor = whole(info.blocks_per_sm);
  p.access_policy_window = 128 << 20;
  p.reserved_shared_per_block = info.smem_reserved_per_block;
  p.host_register = 1;
  p.memory_pools = 1;
  p.ipc_events = 1;
  p.unified_function_pointers = 1;
  p.numa_id = p.host_numa_id = -1;
  return p;
}

// NOLINTNEXTLINE(readability-function-size): a table
std::optional<int> attribute_of(const wire::DeviceInfo& info, int attribute) {
  constexpr int kLast = 147;
  if (attribute < 1 || attribute > kLast) return std::nullopt;
  switch (attribute) {
    case 1:
    case 2:
    case 3:
      return kMaxThreads;
    case 4:
      return 64;
    case 5:
      return 0x7FFFFFFF;
    case 6:
    case 7:
      return 65535;
    case 8:
      return whole(info.smem_per_block);
    case 9:
      return kConstBytes;
    case 10:
      return 32;
    case 11:
      return kMaxPitch;
    case 12:
      return whole(info.registers_per_sm);
    case 13:
      return whole(info.clock_khz);
    case 14:
    case 30:
      return kTextureAlignment;
    case 15:
      return 1;
    case 16:
      return whole(info.sm_count);
    case 19:
      return 1;
    case 31:
    case 32:
      return 1;
    case 33:
      return whole(info.pci_bus);
    case 34:
      return whole(info.pci_device);
    case 36:
      return whole(info.memory_clock_khz);
    case 37:
      return whole(info.memory_bus_bits);
    case 38:
      return whole(info.l2_bytes);
    case 39:
      return whole(info.threads_per_sm);
    case 40:
      return 3;
    case 41:
      return 1;
    case 50:
      return whole(info.pci_domain);
    case 51:
      return 32;
    case 75:
      return whole(info.major);
    case 76:
      return whole(info.minor);
    case 78:
    case 79:
    case 80:
      return 1;
    case 81:
      return whole(info.smem_per_sm);
    case 82:
      return whole(info.registers_per_sm);
    case 83:
      return 1;
    case 85:
      return whole(info.pci_bus);
    case 87:
      return 2;
    case 89:
    case 90:
      return 1;
    case 95:
      return 1;
    case 97:
      return whole(info.smem_per_block_optin);
    case 99:
      return 1;
    case 106:
      return whole(info.blocks_per_sm);
    case 108:
      return whole(info.l2_bytes / 8 * 5);
    case 109:
      return 128 << 20;
    case 111:
      return whole(info.smem_reserved_per_block);
    case 115:
      return 1;
    case 125:
      return 1;
    case 126:
      return 4;
    case 131:
    case 134:
      return -1;
    default:
      return 0;
  }
}

}  // namespace cuco::cudart

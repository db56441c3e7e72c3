// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages about devices: properties, limits, peers, errors.
#pragma once

#include <cstdint>

#include "shims/wire/protocol.h"

namespace cuco::wire {

/// What the hardware description says about a device, as numbers.
struct DeviceInfo {
  char name[64] = {};
  std::uint8_t uuid[16] = {};
  std::uint64_t total_memory = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t smem_per_sm = 0;
  std::uint64_t smem_per_block = 0;
  std::uint64_t smem_per_block_optin = 0;
  std::uint64_t smem_reserved_per_block = 0;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t sm_count = 0;
  std::uint32_t threads_per_sm = 0;
  std::uint32_t blocks_per_sm = 0;
  std::uint32_t registers_per_sm = 0;
  std::uint32_t clock_khz = 0;
  std::uint32_t memory_clock_khz = 0;
  std::uint32_t memory_bus_bits = 0;
  std::uint32_t pci_bus = 0;
  std::uint32_t pci_device = 0;
  std::uint32_t pci_domain = 0;
  std::uint32_t node = 0;
  std::uint32_t has_multicast = 0;
};

struct GetDeviceInfo {
  static constexpr std::uint16_t kType = kDeviceSubject + 1;
  using Reply = DeviceInfo;
  std::int32_t device = 0;
};

/// Waits for all work of the process on the device.
struct DeviceSynchronize {
  static constexpr std::uint16_t kType = kDeviceSubject + 2;
  using Reply = Nothing;
  std::int32_t device = 0;
};

/// Frees everything of the process on the device, ends its work, forgets a sticky error.
struct DeviceReset {
  static constexpr std::uint16_t kType = kDeviceSubject + 3;
  using Reply = Nothing;
  std::int32_t device = 0;
};

struct GetMemoryInfo {
  static constexpr std::uint16_t kType = kDeviceSubject + 4;
  struct Reply {
    std::uint64_t free = 0;
    std::uint64_t total = 0;
  };
  std::int32_t device = 0;
};

/// Reads the device's sticky error without waiting: status of the reply.
struct PeekError {
  static constexpr std::uint16_t kType = kDeviceSubject + 5;
  using Reply = Nothing;
  std::int32_t device = 0;
};

struct PeerAccess {
  static constexpr std::uint16_t kType = kDeviceSubject + 6;
  enum Action : std::uint32_t { kCan = 0, kEnable = 1, kDisable = 2 };
  struct Reply {
    std::uint32_t possible = 0;
  };
  std::int32_t device = 0;
  std::int32_t peer = 0;
  Action action = kCan;
};

struct SetLimit {
  static constexpr std::uint16_t kType = kDeviceSubject + 7;
  using Reply = Nothing;
  std::int32_t device = 0;
  std::uint32_t limit = 0;  ///< cudaLimit
  std::uint64_t value = 0;
};

}  // namespace cuco::wire

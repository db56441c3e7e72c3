// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages about memory: device, pinned, managed, pools, pointers, IPC.
#pragma once

#include <cstdint>

#include "shims/wire/protocol.h"

namespace cuco::wire {

enum class MemoryKind : std::uint32_t { Unknown = 0, Host = 1, Device = 2, Managed = 3 };

struct Allocate {
  static constexpr std::uint16_t kType = kMemorySubject + 1;
  struct Reply {
    std::uint64_t address = 0;
  };
  std::int32_t device = 0;
  MemoryKind kind = MemoryKind::Device;
  std::uint64_t bytes = 0;
  std::uint32_t flags = 0;  ///< Host: cudaHostAlloc's. Managed: the attach flags.
  std::uint32_t reserved = 0;
};

/// Frees after all work of the process on the memory's device is done.
struct Free {
  static constexpr std::uint16_t kType = kMemorySubject + 2;
  struct Reply {
    std::uint64_t bytes = 0;  ///< How much was there, so that a host mapping can be dropped.
  };
  std::uint64_t address = 0;
  MemoryKind kind = MemoryKind::Device;
  std::uint32_t reserved = 0;
};

/// cudaMallocAsync, cudaMallocFromPoolAsync: at once; cudaFreeAsync: in stream order.
struct AllocateAsync {
  static constexpr std::uint16_t kType = kMemorySubject + 3;
  struct Reply {
    std::uint64_t address = 0;
  };
  std::int32_t device = 0;
  std::uint32_t reserved = 0;
  std::uint64_t stream = 0;
  std::uint64_t pool = 0;  ///< 0: the device's own.
  std::uint64_t bytes = 0;
};

struct FreeAsync {
  static constexpr std::uint16_t kType = kMemorySubject + 4;
  using Reply = Nothing;
  std::int32_t device = 0;
  std::uint32_t reserved = 0;
  std::uint64_t stream = 0;
  std::uint64_t address = 0;
};

/// Whose memory an address is.
struct FindAllocation {
  static constexpr std::uint16_t kType = kMemorySubject + 5;
  struct Reply {
    MemoryKind kind = MemoryKind::Unknown;
    std::int32_t device = -1;
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::uint32_t flags = 0;
    std::uint32_t reserved = 0;
  };
  std::uint64_t address = 0;
};

struct PoolCall {
  static constexpr std::uint16_t kType = kMemorySubject + 6;
  enum Action : std::uint32_t { kCreate, kDestroy, kGetAttribute, kSetAttribute, kDefault, kTrim };
  struct Reply {
    std::uint64_t value = 0;
  };
  Action action = kCreate;
  std::int32_t device = 0;
  std::uint64_t pool = 0;
  std::uint32_t attribute = 0;
  std::uint32_t reserved = 0;
  std::uint64_t value = 0;
};

/// IPC: a handle is a number that only the server can turn into memory or an event.
struct IpcExport {
  static constexpr std::uint16_t kType = kIpcSubject + 1;
  struct Reply {
    std::uint64_t handle[2] = {};
    std::uint64_t offset = 0;
  };
  enum What : std::uint32_t { kMemory = 0, kEvent = 1 };
  What what = kMemory;
  std::uint32_t reserved = 0;
  std::uint64_t object = 0;  ///< Address or event.
};

struct IpcOpen {
  static constexpr std::uint16_t kType = kIpcSubject + 2;
  struct Reply {
    std::uint64_t object = 0;
  };
  IpcExport::What what = IpcExport::kMemory;
  std::int32_t device = 0;
  std::uint64_t handle[2] = {};
};

struct IpcClose {
  static constexpr std::uint16_t kType = kIpcSubject + 3;
  using Reply = Nothing;
  std::uint64_t address = 0;
};

}  // namespace cuco::wire

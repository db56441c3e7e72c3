// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages about code: modules, functions, symbols, launches, occupancy.
#pragma once

#include <cstdint>

#include "shims/wire/messages_stream.h"
#include "shims/wire/protocol.h"

namespace cuco::wire {

/// Loads one module: the fat binaries of a registration, or an image for the library API, in the
/// memfd that comes along. Tail: `images` pairs of u64 (offset, bytes) into it. What cannot be
/// parsed is reported when it is used.
struct LoadModule {
  static constexpr std::uint16_t kType = kModuleSubject + 1;
  struct Reply {
    std::uint64_t module = 0;
  };
  std::uint32_t images = 0;
  std::uint32_t reserved = 0;
};

struct UnloadModule {
  static constexpr std::uint16_t kType = kModuleSubject + 2;
  using Reply = Nothing;
  std::uint64_t module = 0;
};

/// A kernel by name (tail). Reply tail: `parameters` pairs of u32 (offset, bytes).
struct GetFunction {
  static constexpr std::uint16_t kType = kModuleSubject + 3;
  struct Reply {
    std::uint64_t function = 0;
    std::uint32_t parameters = 0;
    std::uint32_t parameter_bytes = 0;
  };
  std::uint64_t module = 0;
  std::int32_t device = 0;  ///< Any the process sees; the layout is the same on all.
  std::uint32_t reserved = 0;
};

/// What cudaFuncGetAttributes says, on a device.
struct GetFunctionInfo {
  static constexpr std::uint16_t kType = kModuleSubject + 4;
  struct Reply {
    std::uint64_t static_smem = 0;
    std::uint64_t const_bytes = 0;
    std::uint64_t local_bytes = 0;
    std::uint32_t max_threads = 0;
    std::uint32_t registers = 0;
    std::uint32_t ptx_version = 0;
    std::uint32_t binary_version = 0;
    std::uint64_t max_dynamic_smem = 0;
    std::int32_t preferred_carveout = -1;
    std::uint32_t reserved = 0;
  };
  std::uint64_t function = 0;
  std::int32_t device = 0;
  std::uint32_t reserved = 0;
};

struct SetFunctionAttribute {
  static constexpr std::uint16_t kType = kModuleSubject + 5;
  using Reply = Nothing;
  std::uint64_t function = 0;
  std::int32_t device = 0;
  std::int32_t attribute = 0;  ///< cudaFuncAttribute
  std::int32_t value = 0;
  std::uint32_t reserved = 0;
};

/// A global or constant variable by name (tail) on a device; loads the module there.
struct GetSymbol {
  static constexpr std::uint16_t kType = kModuleSubject + 6;
  struct Reply {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  std::uint64_t module = 0;
  std::int32_t device = 0;
  std::uint32_t reserved = 0;
};

/// Tail: the arguments, laid out as the kernel's parameters.
struct Launch {
  static constexpr std::uint16_t kType = kModuleSubject + 7;
  using Reply = Nothing;
  StreamRef stream;
  std::uint64_t function = 0;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t cluster[3] = {0, 0, 0};
  std::uint32_t cooperative = 0;
  std::uint64_t dynamic_smem = 0;
  std::uint32_t begins_early = 0;  ///< Programmatic dependent launch, which takes its turn here.
  std::uint32_t reserved = 0;
};

struct GetOccupancy {
  static constexpr std::uint16_t kType = kModuleSubject + 8;
  struct Reply {
    std::uint32_t blocks_per_sm = 0;
    std::uint32_t reserved = 0;
  };
  std::uint64_t function = 0;
  std::int32_t device = 0;
  std::uint32_t block_threads = 0;
  std::uint64_t dynamic_smem = 0;
};

/// Every kernel of a module. Reply tail: names, each ended by a zero byte.
struct ListFunctions {
  static constexpr std::uint16_t kType = kModuleSubject + 9;
  struct Reply {
    std::uint32_t count = 0;
    std::uint32_t reserved = 0;
  };
  std::uint64_t module = 0;
};

}  // namespace cuco::wire

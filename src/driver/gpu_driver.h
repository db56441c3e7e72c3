// SPDX-License-Identifier: Apache-2.0
/// \file
/// The few functions of the CUDA driver that are used beside the runtime, found at run time:
/// nothing of CUDA is needed to build this, and a machine without a GPU only gets an error.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace cuco::driver {

// As in cuda.h, CUDA 12 and 13.
struct GpuLocation {
  int type = 1;  // a device
  int id = 0;
};
struct GpuMemoryProperties {
  int type = 1;          // pinned
  int handle_types = 1;  // POSIX file descriptor
  GpuLocation location;
  void* windows = nullptr;
  unsigned char flags[8] = {};
};
struct GpuAccess {
  GpuLocation location;
  int rights = 3;  // read and write
};

struct GpuDriver {
  using Handle = unsigned long long;
  using Pointer = unsigned long long;

  int (*init)(unsigned) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*granularity)(std::size_t*, const GpuMemoryProperties*, int) = nullptr;
  int (*create)(Handle*, std::size_t, const GpuMemoryProperties*, unsigned long long) = nullptr;
  int (*reserve)(Pointer*, std::size_t, std::size_t, Pointer, unsigned long long) = nullptr;
  int (*map)(Pointer, std::size_t, std::size_t, Handle, unsigned long long) = nullptr;
  int (*set_access)(Pointer, std::size_t, const GpuAccess*, std::size_t) = nullptr;
  int (*export_handle)(void*, Handle, int, unsigned long long) = nullptr;
  int (*import_handle)(Handle*, void*, int) = nullptr;
  int (*load_module)(void**, const void*) = nullptr;
  int (*get_function)(void**, void*, const char*) = nullptr;
  int (*launch)(void*,
                unsigned,
                unsigned,
                unsigned,
                unsigned,
                unsigned,
                unsigned,
                unsigned,
                void*,
                void**,
                void**) = nullptr;
  int (*synchronize)() = nullptr;

  [[nodiscard]] static Result<GpuDriver> load();
};

/// "cuMemMap failed with CUDA error 2"
[[nodiscard]] Result<void> gpu_checked(int code, const char* what);

}  // namespace cuco::driver

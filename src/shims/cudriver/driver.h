// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the calls of the driver API stand on: contexts, and the runtime that does the work.
///
/// Streams, events, graphs, pools and kernels are the runtime's own handles, so that programs may
/// mix both interfaces; a context is a device with a name.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shims/cudart/abi.h"
#include "shims/cudart/driver_port.h"

namespace cuco::cudriver {

using cudart::Dim3;
using cudart::Error;  ///< CUresult: the runtime's numbers, but for those that `result_of` changes.
using cudart::EventHandle;
using cudart::ExecHandle;
using cudart::GraphEdge;
using cudart::GraphHandle;
using cudart::HostFunction;
using cudart::IpcHandle;
using cudart::LaunchAttribute;
using cudart::LibraryHandle;
using cudart::MemoryLocation;
using cudart::NodeHandle;
using cudart::PoolHandle;
using cudart::StreamCallback;
using cudart::StreamHandle;
using KernelHandle = struct OpaqueKernel*;
using DevicePointer = std::uint64_t;

inline constexpr Error kInvalidValue = 1;
inline constexpr Error kNotInitialized = 3;
inline constexpr Error kInvalidContext = 201;
inline constexpr Error kNotFound = 500;

struct Context {
  int device = 0;
  bool is_primary = false;
  unsigned flags = 0;
  std::uint64_t id = 0;
};

/// Whether cuInit was called, or the program has the runtime, which does so.
[[nodiscard]] Error initialised();
/// The same, and a context is current.
[[nodiscard]] Error ready();
/// The thread's context; null: none.
[[nodiscard]] Context* current();
[[nodiscard]] Context* primary(int device);
/// Whether the program holds this context.
[[nodiscard]] bool is_live(const Context* context);

/// An error of the runtime as the driver has it. The runtime does not remember it.
[[nodiscard]] Error result_of(Error status);
/// Says once on standard error that a function is not supported; returns CUDA_ERROR_NOT_SUPPORTED.
Error unsupported(const char* function);

/// Sets the thread's device for one call.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

/// Marks a function of the real library.
#define CUCO_DRIVER extern "C" __attribute__((visibility("default")))
/// A second name of a function, for the versions and the streams that differ in nothing here.
#define CUCO_ALIAS(name, of) CUCO_DRIVER __attribute__((alias(#of))) decltype(of) name

}  // namespace cuco::cudriver

// SPDX-License-Identifier: Apache-2.0
/// \file
/// The CUDA driver's functions that loopback calls, looked up when first needed: the library itself
/// depends on no GPU package.
#pragma once

#include <cuda.h>

namespace cuco::loopback {

// X(name): the header's macros choose the version.
#define CUCO_LOOPBACK_DRIVER(X)        \
  X(cuInit)                            \
  X(cuGetErrorString)                  \
  X(cuDeviceGet)                       \
  X(cuDevicePrimaryCtxRetain)          \
  X(cuDeviceGetDevResource)            \
  X(cuDevSmResourceSplitByCount)       \
  X(cuDevResourceGenerateDesc)         \
  X(cuGreenCtxCreate)                  \
  X(cuGreenCtxStreamCreate)            \
  X(cuCtxFromGreenCtx)                 \
  X(cuCtxGetCurrent)                   \
  X(cuCtxSetCurrent)                   \
  X(cuLibraryLoadData)                 \
  X(cuLibraryGetKernel)                \
  X(cuLaunchKernel)                    \
  X(cuFuncLoad)                        \
  X(cuStreamSynchronize)               \
  X(cuStreamQuery)                     \
  X(cuStreamIsCapturing)               \
  X(cuStreamWaitEvent)                 \
  X(cuThreadExchangeStreamCaptureMode) \
  X(cuEventCreate)                     \
  X(cuEventRecord)                     \
  X(cuMemCreate)                       \
  X(cuMemRelease)                      \
  X(cuMemAddressReserve)               \
  X(cuMemAddressFree)                  \
  X(cuMemMap)                          \
  X(cuMemUnmap)                        \
  X(cuMemSetAccess)                    \
  X(cuMemGetAllocationGranularity)     \
  X(cuMemGetInfo)                      \
  X(cuMemHostAlloc)                    \
  X(cuMemHostRegister)                 \
  X(cuMemcpyHtoDAsync)                 \
  X(cuMemcpyDtoHAsync)                 \
  X(cuMemExportToShareableHandle)      \
  X(cuMemImportFromShareableHandle)

struct Driver {
#define CUCO_LOOPBACK_MEMBER(name) decltype(&::name) name = nullptr;
  // NOLINTNEXTLINE(readability-identifier-naming): CUDA's names.
  CUCO_LOOPBACK_DRIVER(CUCO_LOOPBACK_MEMBER)
#undef CUCO_LOOPBACK_MEMBER
};

/// Ends the program with a message where there is no driver, or one that lacks a function.
[[nodiscard]] const Driver& driver();

/// Ends the program with a message if `result` is a failure: of what loopback itself needs.
void must(CUresult result, const char* what);

/// "out of memory"
[[nodiscard]] const char* text_of(CUresult result);

}  // namespace cuco::loopback

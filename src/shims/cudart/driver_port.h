// SPDX-License-Identifier: Apache-2.0
/// \file
/// What libcuda.so.1 needs of the runtime beyond the runtime's own interface.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shims/cudart/abi.h"

/// How the runtime was used: 0 not at all; 1 by calls, which may be the driver's; 2 by the program,
/// which then has a context.
CUCO_CUDART int cucoRuntimeUse();
/// The thread's device, as cudaSetDevice sets it, which makes no context.
CUCO_CUDART cuco::cudart::Error cucoSetDevice(int ordinal);
/// Loads several images that are linked together. They are copied.
CUCO_CUDART cuco::cudart::Error cucoLoadImages(cuco::cudart::LibraryHandle* library,
                                               const void* const* images,
                                               const std::size_t* bytes,
                                               unsigned count);
/// Loads code as a program hands it over: PTX text, a fat binary, nvcc's wrapper of it.
CUCO_CUDART cuco::cudart::Error cucoLoadCode(cuco::cudart::LibraryHandle* library,
                                             const void* code);

/// Where the allocation around an address begins, and its size.
CUCO_CUDART cuco::cudart::Error cucoFindAllocation(std::uint64_t address,
                                                   std::uint64_t* base,
                                                   std::size_t* bytes);

struct CucoFill {
  std::uint64_t address;
  std::size_t pitch, width, height;  ///< Width in elements.
  unsigned value, element_bytes;
};
/// Sets memory to elements of 1, 2 or 4 bytes.
CUCO_CUDART cuco::cudart::Error cucoFill(const CucoFill* fill,
                                         cuco::cudart::StreamHandle stream,
                                         int wait);

// SPDX-License-Identifier: Apache-2.0
/// \file
/// The CUDA error codes that the server itself hands out, with CUDA's numbers.
#pragma once

#include <cstdint>

namespace cuco::wire {

enum Status : std::int32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInitializationError = 3,
  kInvalidConfiguration = 9,
  kInvalidPitchValue = 12,
  kInvalidSymbol = 13,
  kInvalidDevicePointer = 17,
  kInvalidMemcpyDirection = 21,
  kInvalidDeviceFunction = 98,
  kInvalidDevice = 101,
  kInvalidKernelImage = 200,
  kAlreadyMapped = 208,
  kNoKernelImageForDevice = 209,
  kPeerAccessUnsupported = 217,
  kInvalidPtx = 218,
  kSymbolNotFound = 302,  // cudaErrorSharedObjectSymbolNotFound
  kInvalidResourceHandle = 400,
  kIllegalState = 401,
  kNamedSymbolNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailure = 719,
  kCooperativeLaunchTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kStreamCaptureMerge = 902,
  kStreamCaptureUnmatched = 903,
  kStreamCaptureUnjoined = 904,
  kStreamCaptureIsolation = 905,
  kStreamCaptureImplicit = 906,
  kCapturedEvent = 907,
  kStreamCaptureWrongThread = 908,
  kGraphExecUpdateFailure = 910,
  kUnknown = 999,
  /// Ours: the stream is being captured, send pageable memory as CopyEnd::kHost.
  kUseHostEnd = 0x4001,
};

/// Status of a reply to a thread whose context is broken by an earlier trap: it stays.
inline constexpr std::int32_t kStickyFlag = 0x10000;
/// Kernels of the process have printed something: fetch it with FetchOutput.
inline constexpr std::int32_t kOutputFlag = 0x20000;
inline constexpr std::int32_t kStatusMask = 0xFFFF;

}  // namespace cuco::wire

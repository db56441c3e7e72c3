// SPDX-License-Identifier: Apache-2.0
// Compares src/cudart/abi.h and wire/status.h with CUDA's own headers. Compiling is the test.
#include <cstddef>

#include <cuda_runtime_api.h>

#include "shims/cudart/abi.h"
#include "shims/wire/status.h"

namespace cuco::cudart {
namespace {

#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs))
#define SAME_PLACE(ours, our_field, theirs, their_field) \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field))

SAME_SIZE(DeviceProperties, cudaDeviceProp);
SAME_PLACE(DeviceProperties, uuid, cudaDeviceProp, uuid);
SAME_PLACE(DeviceProperties, total_memory, cudaDeviceProp, totalGlobalMem);
SAME_PLACE(DeviceProperties, max_grid, cudaDeviceProp, maxGridSize);
SAME_PLACE(DeviceProperties, major, cudaDeviceProp, major);
SAME_PLACE(DeviceProperties, multiprocessors, cudaDeviceProp, multiProcessorCount);
SAME_PLACE(DeviceProperties, can_map_host_memory, cudaDeviceProp, canMapHostMemory);
SAME_PLACE(DeviceProperties, surface_alignment, cudaDeviceProp, surfaceAlignment);
SAME_PLACE(DeviceProperties, pci_bus, cudaDeviceProp, pciBusID);
SAME_PLACE(DeviceProperties, async_engines, cudaDeviceProp, asyncEngineCount);
SAME_PLACE(DeviceProperties, l2_bytes, cudaDeviceProp, l2CacheSize);
SAME_PLACE(DeviceProperties,
           threads_per_multiprocessor,
           cudaDeviceProp,
           maxThreadsPerMultiProcessor);
SAME_PLACE(DeviceProperties, shared_per_multiprocessor, cudaDeviceProp, sharedMemPerMultiprocessor);
SAME_PLACE(DeviceProperties, managed_memory, cudaDeviceProp, managedMemory);
SAME_PLACE(DeviceProperties, cooperative_launch, cudaDeviceProp, cooperativeLaunch);
SAME_PLACE(DeviceProperties, shared_per_block_optin, cudaDeviceProp, sharedMemPerBlockOptin);
SAME_PLACE(DeviceProperties, reserved_shared_per_block, cudaDeviceProp, reservedSharedMemPerBlock);
SAME_PLACE(DeviceProperties, memory_pools, cudaDeviceProp, memoryPoolsSupported);
SAME_PLACE(DeviceProperties, cluster_launch, cudaDeviceProp, clusterLaunch);
SAME_PLACE(DeviceProperties, host_numa_id, cudaDeviceProp, hostNumaId);
SAME_PLACE(DeviceProperties, reserved, cudaDeviceProp, reserved);

SAME_SIZE(PointerAttributes, cudaPointerAttributes);
SAME_PLACE(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
SAME_SIZE(FunctionAttributes, cudaFuncAttributes);
SAME_PLACE(FunctionAttributes, max_dynamic_shared, cudaFuncAttributes, maxDynamicSharedSizeBytes);
SAME_SIZE(LaunchAttribute, cudaLaunchAttribute);
SAME_PLACE(LaunchAttribute, value, cudaLaunchAttribute, val);
SAME_SIZE(LaunchConfig, cudaLaunchConfig_t);
SAME_PLACE(LaunchConfig, attributes, cudaLaunchConfig_t, attrs);
SAME_SIZE(Copy3d, cudaMemcpy3DParms);
SAME_PLACE(Copy3d, dst, cudaMemcpy3DParms, dstPtr);
SAME_PLACE(Copy3d, kind, cudaMemcpy3DParms, kind);
SAME_SIZE(Copy3dPeer, cudaMemcpy3DPeerParms);
SAME_PLACE(Copy3dPeer, dst_device, cudaMemcpy3DPeerParms, dstDevice);
SAME_SIZE(PitchedPointer, cudaPitchedPtr);
SAME_SIZE(Extent, cudaExtent);
SAME_SIZE(PoolProperties, cudaMemPoolProps);
SAME_PLACE(PoolProperties, location, cudaMemPoolProps, location);
SAME_SIZE(MemoryAccess, cudaMemAccessDesc);
SAME_SIZE(KernelNode, cudaKernelNodeParams);
SAME_PLACE(KernelNode, arguments, cudaKernelNodeParams, kernelParams);
SAME_SIZE(FillNode, cudaMemsetParams);
SAME_SIZE(HostNode, cudaHostNodeParams);
SAME_SIZE(AllocationNode, cudaMemAllocNodeParams);
SAME_PLACE(AllocationNode, address, cudaMemAllocNodeParams, dptr);
SAME_SIZE(NodeParameters, cudaGraphNodeParams);
SAME_PLACE(NodeParameters, kernel, cudaGraphNodeParams, kernel);
SAME_PLACE(NodeParameters, memcpy.copy, cudaGraphNodeParams, memcpy.copyParams);
SAME_SIZE(GraphEdge, cudaGraphEdgeData);
SAME_SIZE(UpdateResult, cudaGraphExecUpdateResultInfo);
SAME_SIZE(InstantiateParameters, cudaGraphInstantiateParams);
SAME_SIZE(IpcHandle, cudaIpcMemHandle_t);

#define SAME_CODE(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))

SAME_CODE(wire::kInvalidValue, cudaErrorInvalidValue);
SAME_CODE(wire::kMemoryAllocation, cudaErrorMemoryAllocation);
SAME_CODE(wire::kInitializationError, cudaErrorInitializationError);
SAME_CODE(wire::kInvalidConfiguration, cudaErrorInvalidConfiguration);
SAME_CODE(wire::kInvalidPitchValue, cudaErrorInvalidPitchValue);
SAME_CODE(wire::kInvalidSymbol, cudaErrorInvalidSymbol);
SAME_CODE(wire::kInvalidMemcpyDirection, cudaErrorInvalidMemcpyDirection);
SAME_CODE(wire::kInvalidDeviceFunction, cudaErrorInvalidDeviceFunction);
SAME_CODE(wire::kInvalidDevice, cudaErrorInvalidDevice);
SAME_CODE(wire::kInvalidKernelImage, cudaErrorInvalidKernelImage);
SAME_CODE(wire::kNoKernelImageForDevice, cudaErrorNoKernelImageForDevice);
SAME_CODE(wire::kPeerAccessUnsupported, cudaErrorPeerAccessUnsupported);
SAME_CODE(wire::kInvalidResourceHandle, cudaErrorInvalidResourceHandle);
SAME_CODE(wire::kIllegalState, cudaErrorIllegalState);
SAME_CODE(wire::kNamedSymbolNotFound, cudaErrorSymbolNotFound);
SAME_CODE(wire::kNotReady, cudaErrorNotReady);
SAME_CODE(wire::kIllegalAddress, cudaErrorIllegalAddress);
SAME_CODE(wire::kLaunchOutOfResources, cudaErrorLaunchOutOfResources);
SAME_CODE(wire::kLaunchTimeout, cudaErrorLaunchTimeout);
SAME_CODE(wire::kPeerAccessAlreadyEnabled, cudaErrorPeerAccessAlreadyEnabled);
SAME_CODE(wire::kPeerAccessNotEnabled, cudaErrorPeerAccessNotEnabled);
SAME_CODE(wire::kContextIsDestroyed, cudaErrorContextIsDestroyed);
SAME_CODE(wire::kAssert, cudaErrorAssert);
SAME_CODE(wire::kHostMemoryAlreadyRegistered, cudaErrorHostMemoryAlreadyRegistered);
SAME_CODE(wire::kHostMemoryNotRegistered, cudaErrorHostMemoryNotRegistered);
SAME_CODE(wire::kHardwareStackError, cudaErrorHardwareStackError);
SAME_CODE(wire::kIllegalInstruction, cudaErrorIllegalInstruction);
SAME_CODE(wire::kMisalignedAddress, cudaErrorMisalignedAddress);
SAME_CODE(wire::kLaunchFailure, cudaErrorLaunchFailure);
SAME_CODE(wire::kCooperativeLaunchTooLarge, cudaErrorCooperativeLaunchTooLarge);
SAME_CODE(wire::kNotPermitted, cudaErrorNotPermitted);
SAME_CODE(wire::kNotSupported, cudaErrorNotSupported);
SAME_CODE(wire::kStreamCaptureUnsupported, cudaErrorStreamCaptureUnsupported);
SAME_CODE(wire::kStreamCaptureInvalidated, cudaErrorStreamCaptureInvalidated);
SAME_CODE(wire::kStreamCaptureMerge, cudaErrorStreamCaptureMerge);
SAME_CODE(wire::kStreamCaptureUnmatched, cudaErrorStreamCaptureUnmatched);
SAME_CODE(wire::kStreamCaptureUnjoined, cudaErrorStreamCaptureUnjoined);
SAME_CODE(wire::kStreamCaptureIsolation, cudaErrorStreamCaptureIsolation);
SAME_CODE(wire::kStreamCaptureImplicit, cudaErrorStreamCaptureImplicit);
SAME_CODE(wire::kCapturedEvent, cudaErrorCapturedEvent);
SAME_CODE(wire::kStreamCaptureWrongThread, cudaErrorStreamCaptureWrongThread);
SAME_CODE(wire::kGraphExecUpdateFailure, cudaErrorGraphExecUpdateFailure);

}  // namespace
}  // namespace cuco::cudart

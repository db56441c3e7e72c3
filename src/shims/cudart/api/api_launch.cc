// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <optional>

#include "shims/cudart/client_launch.h"
#include "shims/cudart/registry.h"
#include "shims/cudart/runtime.h"
#include "shims/wire/messages_module.h"

namespace cuco::cudart {

Error pack_arguments(const Kernel& kernel, void** arguments, std::vector<std::byte>* packed) {
  packed->assign(kernel.parameter_bytes, std::byte{0});
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    if (arguments == nullptr || arguments[i] == nullptr) return wire::kInvalidValue;
    const Kernel::Parameter& parameter = kernel.parameters[i];
    std::memcpy(packed->data() + parameter.offset, arguments[i], parameter.bytes);
  }
  return 0;
}

Error launch(const void* function, const LaunchOptions& options, void** arguments) {
  if (const Error status = refused(); status != 0) return status;
  Kernel* kernel = find_kernel(function);
  if (kernel == nullptr) return wire::kInvalidDeviceFunction;
  place_all_managed();
  if (const Error status = load(*kernel); status != 0) return status;
  std::vector<std::byte> packed;
  if (const Error status = pack_arguments(*kernel, arguments, &packed); status != 0) return status;
  return call(launch_message(*kernel, options), nullptr, packed);
}

wire::Launch launch_message(const Kernel& kernel, const LaunchOptions& options) {
  wire::Launch request;
  request.stream = stream_ref(options.stream);
  request.function = kernel.number;
  const auto set = [](std::uint32_t(&to)[3], const Dim3& from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
  };
  set(request.grid, options.grid);
  set(request.block, options.block);
  set(request.cluster, options.cluster);
  request.cooperative = options.cooperative ? 1 : 0;
  request.begins_early = options.begins_early ? 1 : 0;
  request.dynamic_smem = options.dynamic_smem;
  return request;
}

}  // namespace cuco::cudart

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

Error launch_with_config(const LaunchConfig* config,
                         const void* function,
                         void** arguments,
                         StreamHandle stream) {
  if (config == nullptr) return wire::kInvalidConfiguration;
  LaunchOptions options{.grid = config->grid,
                        .block = config->block,
                        .dynamic_smem = config->dynamic_smem,
                        .stream = stream};
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id == kAttributeCooperative) {
      options.cooperative = attribute.value.cooperative != 0;
    } else if (attribute.id == kAttributeCluster) {
      const auto& cluster = attribute.value.cluster;
      options.cluster = {cluster.x, cluster.y, cluster.z};
    } else if (attribute.id == kAttributeProgrammaticSerialization) {
      options.begins_early = attribute.value.serialization_allowed != 0;
    } else if (attribute.id == kAttributeProgrammaticEvent) {
      options.begins_early = true;
    }
    // The others are hints about time.
  }
  return launch(function, options, arguments);
}

/// Looks a kernel up and asks the server about it.
template <typename Request>
Error ask(const void* function, Request request, typename Request::Reply* reply) {
  if (const Error status = refused(); status != 0) return status;
  Kernel* kernel = find_kernel(function);
  if (kernel == nullptr) return wire::kInvalidDeviceFunction;
  if (const Error status = load(*kernel); status != 0) return status;
  request.function = kernel->number;
  return call(request, reply);
}

}  // namespace

CUCO_CUDART Error cudaLaunchKernel(const void* function,
                                   Dim3 grid,
                                   Dim3 block,
                                   void** arguments,
                                   std::size_t dynamic_smem,
                                   StreamHandle stream) {
  return done(launch(function,
                     {.grid = grid, .block = block, .dynamic_smem = dynamic_smem, .stream = stream},
                     arguments));
}
CUCO_CUDART Error cudaLaunchKernel_ptsz(const void* function,
                                        Dim3 grid,
                                        Dim3 block,
                                        void** arguments,
                                        std::size_t dynamic_smem,
                                        StreamHandle stream) {
  return cudaLaunchKernel(function, grid, block, arguments, dynamic_smem,
                          per_thread_if_null(stream));
}
CUCO_CUDART Error __cudaLaunchKernel(Kernel* kernel,
                                     Dim3 grid,
                                     Dim3 block,
                                     void** arguments,
                                     std::size_t dynamic_smem,
                                     StreamHandle stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, dynamic_smem, stream);
}
CUCO_CUDART Error __cudaLaunchKernel_ptsz(Kernel* kernel,
                                          Dim3 grid,
                                          Dim3 block,
                                          void** arguments,
                                          std::size_t dynamic_smem,
                                          StreamHandle stream) {
  return cudaLaunchKernel_ptsz(kernel, grid, block, arguments, dynamic_smem, stream);
}
CUCO_CUDART Error cudaLaunchCooperativeKernel(const void* function,
                                              Dim3 grid,
                                              Dim3 block,
                                              void** arguments,
                                              std::size_t dynamic_smem,
                                              StreamHandle stream) {
  return done(launch(function,
                     {.grid = grid,
                      .block = block,
                      .cooperative = true,
                      .dynamic_smem = dynamic_smem,
                      .stream = stream},
                     arguments));
}
CUCO_CUDART Error cudaLaunchCooperativeKernel_ptsz(const void* function,
                                                   Dim3 grid,
                                                   Dim3 block,
                                                   void** arguments,
                                                   std::size_t dynamic_smem,
                                                   StreamHandle stream) {
  return cudaLaunchCooperativeKernel(function, grid, block, arguments, dynamic_smem,
                                     per_thread_if_null(stream));
}
CUCO_CUDART Error cudaLaunchKernelExC(const LaunchConfig* config,
                                      const void* function,
                                      void** arguments) {
  return done(launch_with_config(config, function, arguments,
                                 config != nullptr ? config->stream : nullptr));
}
CUCO_CUDART Error cudaLaunchKernelExC_ptsz(const LaunchConfig* config,
                                           const void* function,
                                           void** arguments) {
  return done(launch_with_config(config, function, arguments,
                                 per_thread_if_null(config != nullptr ? config->stream : nullptr)));
}

CUCO_CUDART Error cudaFuncGetAttributes(FunctionAttributes* attributes, const void* function) {
  if (attributes == nullptr) return done(wire::kInvalidValue);
  wire::GetFunctionInfo::Reply reply;
  const Error status = ask(function, wire::GetFunctionInfo{.device = here()}, &reply);
  if (status != 0) return done(status);
  *attributes = {};
  attributes->shared_bytes = reply.static_smem;
  attributes->const_bytes = reply.const_bytes;
  attributes->local_bytes = reply.local_bytes;
  attributes->max_threads = static_cast<int>(reply.max_threads);
  attributes->registers = static_cast<int>(reply.registers);
  attributes->ptx_version = static_cast<int>(reply.ptx_version);
  attributes->binary_version = static_cast<int>(reply.binary_version);
  attributes->max_dynamic_shared = static_cast<int>(reply.max_dynamic_smem);
  attributes->preferred_carveout = reply.preferred_carveout;
  return 0;
}

CUCO_CUDART Error cudaFuncSetAttribute(const void* function, int attribute, int value) {
  if (attribute < 8 || attribute > 15) return done(wire::kInvalidValue);
  return done(
      ask(function,
          wire::SetFunctionAttribute{.device = here(), .attribute = attribute, .value = value},
          nullptr));
}

CUCO_CUDART Error cudaKernelSetAttributeForDevice(Kernel* kernel,
                                                  int attribute,
                                                  int value,
                                                  int device) {
  if (attribute < 8 || attribute > 15) return done(wire::kInvalidValue);
  const int wanted = cluster_device(device);
  if (wanted < 0) return done(wire::kInvalidDevice);
  return done(ask(
      kernel, wire::SetFunctionAttribute{.device = wanted, .attribute = attribute, .value = value},
      nullptr));
}

CUCO_CUDART Error cudaFuncSetCacheConfig(const void* function, int /*config*/) {
  return done(find_kernel(function) != nullptr ? 0 : Error{wire::kInvalidDeviceFunction});
}
CUCO_CUDART Error cudaFuncSetSharedMemConfig(const void* function, int /*config*/) {
  return cudaFuncSetCacheConfig(function, 0);
}

CUCO_CUDART Error cudaFuncGetName(const char** name, const void* function) {
  const Kernel* kernel = find_kernel(function);
  if (name == nullptr || function == nullptr) return done(wire::kInvalidValue);
  if (kernel == nullptr) return done(wire::kInvalidDeviceFunction);
  *name = kernel->name.c_str();
  return 0;
}

CUCO_CUDART Error cudaFuncGetParamInfo(const void* function,
                                       std::size_t index,
                                       std::size_t* offset,
                                       std::size_t* bytes) {
  Kernel* kernel = find_kernel(function);
  if (kernel == nullptr) return done(wire::kInvalidDeviceFunction);
  if (const Error status = load(*kernel); status != 0) return done(status);
  if (index >= kernel->parameters.size()) return done(wire::kInvalidValue);
  if (offset != nullptr) *offset = kernel->parameters[index].offset;
  if (bytes != nullptr) *bytes = kernel->parameters[index].bytes;
  return 0;
}

CUCO_CUDART Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int threads, std::size_t dynamic_smem, unsigned flags) {
  if (blocks == nullptr || threads <= 0 || flags > 1) return done(wire::kInvalidValue);
  wire::GetOccupancy::Reply reply;
  const Error status = ask(function,
                           wire::GetOccupancy{.device = here(),
                                              .block_threads = static_cast<std::uint32_t>(threads),
                                              .dynamic_smem = dynamic_smem},
                           &reply);
  if (status == 0) *blocks = static_cast<int>(reply.blocks_per_sm);
  return done(status);
}

CUCO_CUDART Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                const void* function,
                                                                int threads,
                                                                std::size_t dynamic_smem) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                dynamic_smem, 0);
}

CUCO_CUDART Error cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* dynamic_smem,
                                                            const void* function,
                                                            int blocks,
                                                            int threads) {
  if (dynamic_smem == nullptr || blocks <= 0 || threads <= 0) return done(wire::kInvalidValue);
  const wire::DeviceInfo* info = device_info(thread().device);
  if (info == nullptr) return done(kNoDevice);
  // Largest size, in 1 KiB steps, at which that many blocks still fit.
  for (std::size_t bytes = info->smem_per_block_optin / 1024 * 1024;; bytes -= 1024) {
    int fit = 0;
    const Error status =
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, function, threads, bytes);
    if (status != 0) return status;
    if (fit >= blocks || bytes == 0) {
      *dynamic_smem = fit >= blocks ? bytes : 0;
      return 0;
    }
  }
}

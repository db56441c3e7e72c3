// SPDX-License-Identifier: Apache-2.0
// Launches, functions and occupancy.
#include <algorithm>
#include <vector>

#include "shims/cudriver/driver.h"
#include "shims/cudriver/runtime_calls.h"

using namespace cuco::cudriver;  // NOLINT(google-build-using-namespace): the ABI is global

namespace {

/// CUlaunchConfig
struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  unsigned dynamic_smem;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

StreamHandle per_thread_if_null(StreamHandle stream) {
  return stream != nullptr ? stream : cuco::cudart::handle_of<StreamHandle>(2);
}

/// The arguments one by one, out of the buffer that CU_LAUNCH_PARAM_BUFFER_POINTER names.
Error spread(const void* function, void** extra, std::vector<void*>& arguments) {
  constexpr std::uintptr_t kEnd = 0;
  constexpr std::uintptr_t kPointer = 1;
  std::byte* buffer = nullptr;
  for (; reinterpret_cast<std::uintptr_t>(*extra) != kEnd; extra += 2) {
    if (reinterpret_cast<std::uintptr_t>(*extra) == kPointer) {
      buffer = static_cast<std::byte*>(extra[1]);
    }
  }
  if (buffer == nullptr) return kInvalidValue;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; cudaFuncGetParamInfo(function, i, &offset, &bytes) == 0; ++i) {
    arguments.push_back(buffer + offset);
  }
  (void)cudaGetLastError();
  return 0;
}

Error launch(const LaunchConfig& config, const void* function, void** arguments, void** extra) {
  if (const Error status = ready(); status != 0) return status;
  if (function == nullptr) return 400;  // CUDA_ERROR_INVALID_HANDLE
  std::vector<void*> spread_arguments;
  if (arguments == nullptr && extra != nullptr) {
    if (const Error status = spread(function, extra, spread_arguments); status != 0) return status;
    arguments = spread_arguments.data();
  }
  const cuco::cudart::LaunchConfig with{config.grid,   config.block,      config.dynamic_smem,
                                        config.stream, config.attributes, config.attribute_count};
  return result_of(cudaLaunchKernelExC(&with, function, arguments));
}

Error attribute_of(int* value, int attribute, const void* function) {
  if (value == nullptr) return kInvalidValue;
  cuco::cudart::FunctionAttributes all;
  if (const Error status = cudaFuncGetAttributes(&all, function); status != 0)
    return result_of(status);
  const int values[] = {all.max_threads,
                        static_cast<int>(all.shared_bytes),
                        static_cast<int>(all.const_bytes),
                        static_cast<int>(all.local_bytes),
                        all.registers,
                        all.ptx_version,
                        all.binary_version,
                        all.cache_mode_ca,
                        all.max_dynamic_shared,
                        all.preferred_carveout,
                        all.cluster_must_be_set,
                        all.cluster_width,
                        all.cluster_height,
                        all.cluster_depth,
                        all.non_portable_cluster,
                        all.cluster_policy};
  if (attribute < 0 || attribute >= static_cast<int>(std::size(values))) return kInvalidValue;
  *value = values[attribute];
  return 0;
}

using SharedForBlock = std::size_t (*)(int block_size);

/// The block size that fills a multiprocessor best; the largest of those that do it equally.
Error best_block(int* min_grid,
                 int* block,
                 const void* function,
                 SharedForBlock shared_for,
                 std::size_t dynamic_smem,
                 int limit) {
  if (min_grid == nullptr || block == nullptr) return kInvalidValue;
  int most = 0;
  if (const Error status = attribute_of(&most, 0, function); status != 0) return status;
  if (limit > 0) most = std::min(most, limit);
  constexpr int kWarp = 32;
  int best_threads = 0;
  int best_blocks = 0;
  *block = 0;
  for (int size = (most + kWarp - 1) / kWarp * kWarp; size > 0; size -= kWarp) {
    const int threads = std::min(size, most);
    const std::size_t shared = shared_for != nullptr ? shared_for(threads) : dynamic_smem;
    int blocks = 0;
    const Error status =
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared);
    if (status != 0) return result_of(status);
    if (blocks * threads <= best_threads) continue;
    best_threads = blocks * threads;
    best_blocks = blocks;
    *block = threads;
  }
  int device = 0;
  int multiprocessors = 0;
  constexpr int kMultiprocessors = 16;
  (void)cudaGetDevice(&device);
  const Error status = cudaDeviceGetAttribute(&multiprocessors, kMultiprocessors, device);
  *min_grid = best_blocks * multiprocessors;
  return result_of(status);
}

}  // namespace

// NOLINTBEGIN(readability-function-size): CUDA's parameter lists
CUCO_DRIVER Error cuLaunchKernel(const void* function,
                                 unsigned grid_x,
                                 unsigned grid_y,
                                 unsigned grid_z,
                                 unsigned block_x,
                                 unsigned block_y,
                                 unsigned block_z,
                                 unsigned dynamic_smem,
                                 StreamHandle stream,
                                 void** arguments,
                                 void** extra) {
  return launch(
      {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_smem, stream, nullptr, 0},
      function, arguments, extra);
}
CUCO_DRIVER Error cuLaunchKernel_ptsz(const void* function,
                                      unsigned grid_x,
                                      unsigned grid_y,
                                      unsigned grid_z,
                                      unsigned block_x,
                                      unsigned block_y,
                                      unsigned block_z,
                                      unsigned dynamic_smem,
                                      StreamHandle stream,
                                      void** arguments,
                                      void** extra) {
  return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_smem,
                        per_thread_if_null(stream), arguments, extra);
}
CUCO_DRIVER Error cuLaunchCooperativeKernel(const void* function,
                                            unsigned grid_x,
                                            unsigned grid_y,
                                            unsigned grid_z,
                                            unsigned block_x,
                                            unsigned block_y,
                                            unsigned block_z,
                                            unsigned dynamic_smem,
                                            StreamHandle stream,
                                            void** arguments) {
  LaunchAttribute attribute{};
  attribute.id = cuco::cudart::kAttributeCooperative;
  attribute.value.cooperative = 1;
  return launch(
      {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_smem, stream, &attribute, 1},
      function, arguments, nullptr);
}
CUCO_DRIVER Error cuLaunchCooperativeKernel_ptsz(const void* function,
                                                 unsigned grid_x,
                                                 unsigned grid_y,
                                                 unsigned grid_z,
                                                 unsigned block_x,
                                                 unsigned block_y,
                                                 unsigned block_z,
                                                 unsigned dynamic_smem,
                                                 StreamHandle stream,
                                                 void** arguments) {
  return cuLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                   dynamic_smem, per_thread_if_null(stream), arguments);
}
// NOLINTEND(readability-function-size)
CUCO_DRIVER Error cuLaunchKernelEx(const LaunchConfig* config,
                                   const void* function,
                                   void** arguments,
                                   void** extra) {
  return config == nullptr ? kInvalidValue : launch(*config, function, arguments, extra);
}
CUCO_DRIVER Error cuLaunchKernelEx_ptsz(const LaunchConfig* config,
                                        const void* function,
                                        void** arguments,
                                        void** extra) {
  if (config == nullptr) return kInvalidValue;
  LaunchConfig with = *config;
  with.stream = per_thread_if_null(with.stream);
  return launch(with, function, arguments, extra);
}

CUCO_DRIVER Error cuFuncGetAttribute(int* value, int attribute, const void* function) {
  if (const Error status = ready(); status != 0) return status;
  return attribute_of(value, attribute, function);
}
CUCO_DRIVER Error cuKernelGetAttribute(int* value, int attribute, const void* kernel, int device) {
  if (const Error status = initialised(); status != 0) return status;
  const OnDevice on(device);
  return attribute_of(value, attribute, kernel);
}
CUCO_DRIVER Error cuKernelSetAttribute(int attribute, int value, const void* kernel, int device) {
  if (const Error status = initialised(); status != 0) return status;
  const OnDevice on(device);
  return result_of(cudaFuncSetAttribute(kernel, attribute, value));
}

CUCO_DRIVER Error cuOccupancyMaxPotentialBlockSize(int* min_grid,
                                                   int* block,
                                                   const void* function,
                                                   SharedForBlock shared_for,
                                                   std::size_t dynamic_smem,
                                                   int limit) {
  if (const Error status = ready(); status != 0) return status;
  return best_block(min_grid, block, function, shared_for, dynamic_smem, limit);
}
// The flag asks to leave the L1 cache out of account, which it is.
// NOLINTNEXTLINE(readability-function-size): CUDA's parameter list
CUCO_DRIVER Error cuOccupancyMaxPotentialBlockSizeWithFlags(int* min_grid,
                                                            int* block,
                                                            const void* function,
                                                            SharedForBlock shared_for,
                                                            std::size_t dynamic_smem,
                                                            int limit,
                                                            unsigned /*flags*/) {
  return cuOccupancyMaxPotentialBlockSize(min_grid, block, function, shared_for, dynamic_smem,
                                          limit);
}

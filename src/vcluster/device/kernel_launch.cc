// SPDX-License-Identifier: Apache-2.0
#include "vcluster/device/kernel_launch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shims/wire/messages_module.h"
#include "shims/wire/status.h"
#include "vcluster/device/devices.h"
#include "vcluster/device/loaded_module.h"
#include "vcluster/host/processes.h"
#include "vcluster/nccl/nccl_world.h"
#include "vcluster/watch/block_trace.h"
#include "vcluster/watch/run_check.h"
#include "vgpu/lower/code.h"

namespace cuco::vcluster {
namespace {

bool dimensions_fit(const wire::Launch& request, std::uint32_t max_threads) {
  constexpr std::uint32_t kMaxGrid[3] = {0x7FFFFFFF, 65535, 65535};
  constexpr std::uint32_t kMaxBlock[3] = {1024, 1024, 64};
  std::uint64_t threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (request.grid[axis] == 0 || request.grid[axis] > kMaxGrid[axis]) return false;
    if (request.block[axis] == 0 || request.block[axis] > kMaxBlock[axis]) return false;
    threads *= request.block[axis];
  }
  return threads <= max_threads;
}

std::uint32_t threads_of(const wire::Launch& request) {
  return request.block[0] * request.block[1] * request.block[2];
}

/// Dynamic shared memory beyond 48 KiB needs cudaFuncSetAttribute first.
bool shared_memory_fits(const OperationParts& parts,
                        const Function& function,
                        const wire::Launch& request,
                        std::uint32_t static_bytes) {
  const auto& gpu = parts.devices.description();
  const auto opted_in = function.max_dynamic_smem.find(request.stream.device);
  const std::uint64_t limit = opted_in != function.max_dynamic_smem.end() &&
                                      opted_in->second + static_bytes > gpu.shared_per_block
                                  ? opted_in->second + static_bytes
                                  : gpu.shared_per_block;
  return request.dynamic_smem <= gpu.shared_per_block_optin &&
         request.dynamic_smem + static_bytes <= limit;
}

KernelFilling filling_of(const vgpu::Gpu& gpu, const vgpu::LaunchRequest& request) {
  const vgpu::KernelInfo& info = request.program->kernel_info(request.kernel);
  const std::uint32_t threads = request.block[0] * request.block[1] * request.block[2];
  const std::uint32_t at_once = gpu.occupancy(info, threads, request.dynamic_shared);
  const double blocks = double{1} * request.grid[0] * request.grid[1] * request.grid[2];
  const double per_sm = blocks / gpu.description().sms;
  return {.blocks_per_sm = per_sm, .waves = per_sm / std::max(1U, at_once)};
}

/// A kernel of the process ended with a trap: the context is broken until it is reset.
void break_context(const OperationParts& parts, Context& context, const vgpu::Trap& trap) {
  if (context.error == 0) context.error = status_of(trap.kind);
  // A failed assertion speaks CUDA's own words.
  std::string text = trap.kind == vgpu::TrapKind::Assert ? trap.message + "\n"
                                                         : "cuco: " + vgpu::to_string(trap) + "\n";
  if (trap.kind == vgpu::TrapKind::IllegalAddress) {
    if (const auto more = parts.nccl.explain(trap.address, context.device)) {
      text += "cuco: " + *more + "\n";
    }
  }
  context.process->tell(text);
  // What else ran in the context ends with it: a spin on a value that never comes, above all.
  const auto others = context.grids;
  for (const std::uint64_t grid : others) {
    parts.devices.gpu(context.device)
        .kill(grid, vgpu::TrapKind::Cancelled, "another kernel of its process trapped");
  }
}

void on_grid_done(const OperationParts& parts,
                  Context& context,
                  const WorkPtr& work,
                  const vgpu::GridResult& result) {
  context.grids.erase(result.id);
  if (result.trap && result.trap->kind != vgpu::TrapKind::Cancelled) {
    break_context(parts, context, *result.trap);
    if (parts.check != nullptr) {
      parts.check->checker.on_trap(
          *result.trap, parts.check->rank_of(*context.process, context.device),
          parts.nccl.explain(result.trap->address, context.device).value_or(""));
    }
  }
  if (parts.check != nullptr) parts.check->end(*work);
  parts.works.finish(work, std::max(result.finished, parts.timeline.now()));
}

/// Blocks of one cluster, as the launch or the kernel itself wants them.
std::uint64_t cluster_blocks(const wire::Launch& request, const vgpu::Kernel& kernel) {
  const auto product = [](const auto& extents) {
    return std::uint64_t{extents[0]} * extents[1] * extents[2];
  };
  const std::uint64_t wanted = product(request.cluster);
  if (wanted != 0 || kernel.functions.empty()) return wanted;
  const ptx::Function* function = kernel.functions.front().function;
  return function != nullptr && function->cluster ? product(*function->cluster) : 1;
}

}  // namespace

std::int32_t status_of(vgpu::TrapKind kind) {
  switch (kind) {
    case vgpu::TrapKind::IllegalAddress:
      return wire::kIllegalAddress;
    case vgpu::TrapKind::Misaligned:
      return wire::kMisalignedAddress;
    case vgpu::TrapKind::IllegalInstruction:
    case vgpu::TrapKind::Unsupported:
      return wire::kIllegalInstruction;
    case vgpu::TrapKind::Assert:
      return wire::kAssert;
    case vgpu::TrapKind::StackOverflow:
      return wire::kHardwareStackError;
    case vgpu::TrapKind::Budget:
      return wire::kLaunchTimeout;
    case vgpu::TrapKind::Trap:
    case vgpu::TrapKind::Cancelled:
      break;
  }
  return wire::kLaunchFailure;
}

std::uint32_t dynamic_smem_limit(const Devices& devices,
                                 const Function& function,
                                 std::int32_t device) {
  const auto found = function.max_dynamic_smem.find(device);
  return found != function.max_dynamic_smem.end() ? found->second
                                                  : devices.description().shared_per_block;
}

Parsed parse_launch(const OperationParts& parts,
                    Session& session,
                    const wire::Launch& request,
                    wire::Bytes arguments) {
  Process& process = *session.process;
  const auto found = process.functions.find(request.function);
  if (found == process.functions.end()) return {wire::kInvalidDeviceFunction, {}};
  Function& function = *found->second;
  // A created stream may be on another device than the thread's current one; CUDA refuses that.
  const Stream* stream = parts.processes.stream(session, request.stream);
  if (stream == nullptr || stream->context->device != request.stream.device) {
    return {wire::kInvalidResourceHandle, {}};
  }
  const std::int32_t device = request.stream.device;
  const auto program = program_on(parts.devices, parts.check, process, *function.module, device);
  if (!program) return {wire::kNoKernelImageForDevice, {}};
  const auto kernel = find_kernel(*function.module, **program, function.name);
  if (!kernel) return {wire::kInvalidDeviceFunction, {}};
  const vgpu::KernelInfo& info = (*program)->kernel_info(*kernel);
  if (arguments.size() < info.argument_bytes) return {wire::kInvalidValue, {}};
  if (!dimensions_fit(request, 1024)) return {wire::kInvalidConfiguration, {}};
  if (!shared_memory_fits(parts, function, request, info.static_shared)) {
    return {wire::kInvalidValue, {}};
  }
  if (const std::uint64_t blocks = cluster_blocks(request, (*program)->kernel(*kernel));
      blocks > 1) {
    process.tell(fmt::format(
        "cuco: {} is launched in clusters of {} blocks; virtual GPUs have clusters of one\n",
        function.name, blocks));
    return {wire::kNotSupported, {}};
  }
  const auto smem = static_cast<std::uint32_t>(request.dynamic_smem);
  const vgpu::Gpu& gpu = parts.devices.gpu(device);
  const std::uint32_t per_sm = gpu.occupancy(info, threads_of(request), smem);
  if (threads_of(request) > info.max_threads || per_sm == 0) {
    return {wire::kLaunchOutOfResources, {}};
  }
  if (request.cooperative != 0) {
    const std::uint64_t blocks = std::uint64_t{request.grid[0]} * request.grid[1] * request.grid[2];
    if (blocks > std::uint64_t{per_sm} * gpu.description().sms) {
      return {wire::kCooperativeLaunchTooLarge, {}};
    }
  }
  KernelOperation operation;
  operation.function = found->second;
  std::copy_n(request.grid, 3, operation.grid.begin());
  std::copy_n(request.block, 3, operation.block.begin());
  operation.dynamic_smem = smem;
  operation.cooperative = request.cooperative != 0;
  operation.arguments.assign(arguments.begin(), arguments.begin() + info.argument_bytes);
  return {wire::kSuccess, std::move(operation)};
}

VTime kernel_begin(const vgpu::Gpu& gpu, const Work& work, VTime now) {
  const auto& description = gpu.description();
  const double gap = work.in_graph ? description.graph_gap_us : description.gap_us;
  const auto way =
      static_cast<VTime>((description.launch_us - gap) * static_cast<double>(vgpu::kMicrosecond));
  return std::max(work.submitted_at, now - way);
}

WorkPtr make_kernel_work(const OperationParts& parts, Context& context, KernelOperation kernel) {
  std::string what = "kernel " + kernel.function->name;
  return WorkGraph::make(std::move(what), [&parts, &context,
                                           kernel = std::move(kernel)](const WorkPtr& work) {
    const VTime now = parts.timeline.now();
    if (context.error != 0) return parts.works.finish(work, now);
    const auto program = program_on(parts.devices, parts.check, *context.process,
                                    *kernel.function->module, context.device);
    if (!program) return parts.works.finish(work, now);
    vgpu::LaunchRequest request;
    request.program = *program;
    request.kernel = (*program)->find_kernel(kernel.function->name).value_or(0);
    request.grid = kernel.grid;
    request.block = kernel.block;
    request.dynamic_shared = kernel.dynamic_smem;
    request.arguments = kernel.arguments;
    request.cooperative = kernel.cooperative;
    request.priority = kernel.priority;
    request.peers = context.peers | (std::uint64_t{1} << static_cast<unsigned>(context.device)) |
                    parts.nccl.load_store_peers(context.device);
    request.print = [process = context.process](std::string_view text) {
      process->output.push_back({1, std::string(text)});
    };
    vgpu::Gpu& gpu = parts.devices.gpu(context.device);
    auto done = [&parts, &context, work, function = kernel.function,
                 filling = filling_of(gpu, request)](const vgpu::GridResult& result) mutable {
      filling.time = result.finished - result.started;
      KernelFilling& longest = context.process->longest_kernel;
      if (filling.time > longest.time) longest = filling;
      on_grid_done(parts, context, work, result);
    };
    const auto grid =
        gpu.launch(std::move(request), kernel_begin(gpu, *work, now), std::move(done));
    if (grid) {
      context.grids.insert(*grid);
      if (parts.check != nullptr)
        parts.check->start_grid(*work, context, kernel.function->name, *grid);
      if (parts.trace != nullptr) {
        const auto index = (*program)->find_kernel(kernel.function->name).value_or(0);
        parts.trace->start_grid(*work, context.device, *grid, kernel,
                                (*program)->kernel_info(index));
      }
    } else {
      // Everything that CUDA refuses was refused at the call; what is left is ours to report.
      context.error = wire::kLaunchFailure;
      context.process->tell("cuco: " + grid.error().message() + "\n");
      parts.works.finish(work, now);
    }
  });
}

}  // namespace cuco::vcluster

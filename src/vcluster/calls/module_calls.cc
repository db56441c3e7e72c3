// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "shims/wire/messages_managed.h"
#include "shims/wire/messages_module.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/core/cluster.h"
#include "vcluster/core/operation.h"
#include "vcluster/device/kernel_launch.h"
#include "vcluster/device/loaded_module.h"
#include "vgpu/memory/address_map.h"

namespace cuco::vcluster {
namespace {

constexpr std::uint64_t kMaxImages = 4096;
constexpr std::uint64_t kMaxImageBytes = std::uint64_t{2} << 30U;

struct Range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Copies a range of the shared file out, so that its writer cannot change it any more.
bool read_range(int fd, const Range& range, std::vector<std::byte>& out) {
  out.resize(range.bytes);
  std::uint64_t got = 0;
  while (got < range.bytes) {
    const ssize_t part =
        ::pread(fd, out.data() + got, range.bytes - got, static_cast<off_t>(range.offset + got));
    if (part <= 0) return false;
    got += static_cast<std::uint64_t>(part);
  }
  return true;
}

void load(Cluster& cluster, Session& session, const wire::LoadModule& request, wire::Bytes tail) {
  const wire::Fd fd = session.take_fd();
  struct stat info{};
  if (!fd.is_open() || ::fstat(fd.get(), &info) != 0)
    return session.refuse("a module without file");
  const auto ranges = wire::read_array<Range>(tail, request.images);
  if (!ranges || request.images > kMaxImages) return session.refuse("a module of too many images");
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
  std::vector<std::vector<std::byte>> images;
  for (const Range& range : *ranges) {
    if (range.bytes > kMaxImageBytes || range.offset > size || range.bytes > size - range.offset) {
      return session.refuse("a module image outside of its file");
    }
    if (!read_range(fd.get(), range, images.emplace_back())) {
      return session.refuse("a module image that cannot be read");
    }
  }
  const auto& gpu = cluster.options.gpu;
  const auto module =
      make_module(cluster.new_id(), images, gpu.compute_major * 10 + gpu.compute_minor);
  session.process->modules[module->id] = module;
  session.reply_with(wire::kSuccess, wire::LoadModule::Reply{.module = module->id});
}

struct Found {
  std::shared_ptr<Function> function;
  const vgpu::KernelInfo* info = nullptr;
};

/// The function with its description on the device; replies with the error if there is none.
std::optional<Found> find_function(Cluster& cluster,
                                   Session& session,
                                   std::uint64_t id,
                                   std::int32_t device) {
  Process& process = *session.process;
  const auto found = process.functions.find(id);
  std::int32_t status = wire::kInvalidDeviceFunction;
  if (found != process.functions.end() && process.sees(device)) {
    const auto program = program_on(cluster, process, *found->second->module, device);
    const auto kernel = program
                            ? find_kernel(*found->second->module, **program, found->second->name)
                            : std::optional<std::uint32_t>{};
    if (kernel) return Found{found->second, &(*program)->kernel_info(*kernel)};
    if (!program) status = wire::kNoKernelImageForDevice;
  }
  cluster.reply_status(session, nullptr, status);
  return std::nullopt;
}

void get_function(Cluster& cluster,
                  Session& session,
                  const wire::GetFunction& request,
                  wire::Bytes tail) {
  Process& process = *session.process;
  const auto module = process.modules.find(request.module);
  if (module == process.modules.end() || !process.sees(request.device)) {
    return session.reply(wire::kInvalidDeviceFunction);
  }
  auto function = std::make_shared<Function>();
  function->id = cluster.new_id();
  function->module = module->second;
  function->name = std::string(wire::text_of(tail));
  process.functions[function->id] = function;
  const auto found = find_function(cluster, session, function->id, request.device);
  if (!found) {
    process.functions.erase(function->id);
    return;
  }
  wire::GetFunction::Reply reply;
  reply.function = function->id;
  reply.parameters = static_cast<std::uint32_t>(found->info->parameters.size());
  reply.parameter_bytes = found->info->argument_bytes;
  std::vector<std::byte> layout;
  for (const vgpu::ParameterInfo& parameter : found->info->parameters) {
    wire::append(layout, parameter.offset);
    wire::append(layout, parameter.bytes);
  }
  session.reply_with(wire::kSuccess, reply, layout);
}

void function_info(Cluster& cluster, Session& session, const wire::GetFunctionInfo& request) {
  const auto found = find_function(cluster, session, request.function, request.device);
  if (!found) return;
  const auto& gpu = cluster.options.gpu;
  const ptx::Module& module = *found->function->module->parsed;
  wire::GetFunctionInfo::Reply reply;
  reply.static_smem = found->info->static_shared;
  reply.local_bytes = found->info->local_bytes;
  reply.max_threads = found->info->max_threads;
  reply.registers = found->info->registers;
  reply.ptx_version = 10 * gpu.compute_major + gpu.compute_minor;
  if (module.target.starts_with("sm_")) {
    reply.ptx_version = static_cast<std::uint32_t>(std::atoi(module.target.c_str() + 3));
  }
  reply.binary_version = 10 * gpu.compute_major + gpu.compute_minor;
  const std::uint32_t limit = dynamic_smem_limit(cluster, *found->function, request.device);
  const bool opted_in = found->function->max_dynamic_smem.contains(request.device);
  reply.max_dynamic_smem = opted_in ? limit : limit - std::min(limit, found->info->static_shared);
  const auto carveout = found->function->carveout.find(request.device);
  if (carveout != found->function->carveout.end()) reply.preferred_carveout = carveout->second;
  session.reply_with(wire::kSuccess, reply);
}

void set_attribute(Cluster& cluster, Session& session, const wire::SetFunctionAttribute& request) {
  constexpr std::int32_t kMaxDynamicSharedMemorySize = 8;
  constexpr std::int32_t kPreferredCarveout = 9;
  const auto found = find_function(cluster, session, request.function, request.device);
  if (!found) return;
  if (request.attribute == kMaxDynamicSharedMemorySize) {
    const std::int64_t most =
        std::int64_t{cluster.options.gpu.shared_per_block_optin} - found->info->static_shared;
    if (request.value < 0 || request.value > most) return session.reply(wire::kInvalidValue);
    found->function->max_dynamic_smem[request.device] = static_cast<std::uint32_t>(request.value);
  } else if (request.attribute == kPreferredCarveout) {
    if (request.value < -1 || request.value > 100) return session.reply(wire::kInvalidValue);
    found->function->carveout[request.device] = request.value;
  }
  session.reply(wire::kSuccess);
}

void get_symbol(Cluster& cluster,
                Session& session,
                const wire::GetSymbol& request,
                wire::Bytes tail) {
  Process& process = *session.process;
  const auto module = process.modules.find(request.module);
  if (module == process.modules.end() || !process.sees(request.device)) {
    return session.reply(wire::kInvalidSymbol);
  }
  const auto program = program_on(cluster, process, *module->second, request.device);
  if (!program) return cluster.reply_status(session, nullptr, wire::kNoKernelImageForDevice);
  const auto symbol = (*program)->find_symbol(wire::text_of(tail));
  if (!symbol) return session.reply(wire::kInvalidSymbol);
  session.reply_with(wire::kSuccess,
                     wire::GetSymbol::Reply{.address = symbol->address, .bytes = symbol->bytes});
}

void map_managed(Cluster& cluster,
                 Session& session,
                 const wire::MapManaged& request,
                 wire::Bytes tail) {
  Process& process = *session.process;
  const auto module = process.modules.find(request.module);
  if (module == process.modules.end() || !process.sees(request.device)) {
    return session.reply(wire::kInvalidSymbol);
  }
  const auto program = program_on(cluster, process, *module->second, request.device);
  if (!program) return cluster.reply_status(session, nullptr, wire::kNoKernelImageForDevice);
  const auto symbol = (*program)->find_symbol(wire::text_of(tail));
  if (!symbol || !symbol->managed) return session.reply(wire::kInvalidSymbol);
  // The memory itself may be another device's.
  const vgpu::Address there = cluster.memory->canonical(symbol->address);
  const unsigned device = cluster.memory->granule(there).owner;
  wire::MapManaged::Reply reply;
  reply.address = symbol->address;
  reply.bytes = symbol->bytes;
  reply.file_offset = there - vgpu::device_base(device);
  cluster.allocations[symbol->address] = {.bytes = symbol->bytes,
                                          .kind = wire::MemoryKind::Managed,
                                          .device = request.device,
                                          .process = process.index};
  session.reply_with(wire::kSuccess, reply, {}, cluster.memory->device_fd(device));
}

void launch(Cluster& cluster, Session& session, const wire::Launch& request, wire::Bytes tail) {
  Context* context = cluster.context(*session.process, request.stream.device);
  if (context == nullptr) return session.reply(wire::kInvalidDevice);
  if (context->error != 0) return cluster.reply_status(session, context, wire::kSuccess);
  Parsed parsed = parse_launch(cluster, session, request, tail);
  if (parsed.status == wire::kSuccess) {
    Stream* stream = cluster.stream(session, request.stream);
    parsed.status = enqueue(cluster, *stream, std::move(parsed.operation)).status;
  }
  cluster.reply_status(session, context, parsed.status);
}

void occupancy(Cluster& cluster, Session& session, const wire::GetOccupancy& request) {
  const auto found = find_function(cluster, session, request.function, request.device);
  if (!found) return;
  wire::GetOccupancy::Reply reply;
  const std::uint64_t most = cluster.options.gpu.shared_per_block_optin;
  if (request.block_threads > 0 && request.block_threads <= found->info->max_threads &&
      request.dynamic_smem <= most) {
    reply.blocks_per_sm = cluster.gpus[static_cast<std::size_t>(request.device)]->occupancy(
        *found->info, request.block_threads, static_cast<std::uint32_t>(request.dynamic_smem));
  }
  session.reply_with(wire::kSuccess, reply);
}

void list(Cluster& cluster, Session& session, const wire::ListFunctions& request) {
  Process& process = *session.process;
  const auto module = process.modules.find(request.module);
  if (module == process.modules.end()) return session.reply(wire::kInvalidResourceHandle);
  const auto program = program_on(cluster, process, *module->second, process.devices.front());
  if (!program) return cluster.reply_status(session, nullptr, wire::kInvalidKernelImage);
  std::string names;
  wire::ListFunctions::Reply reply;
  for (const ptx::Function& function : module->second->parsed->functions) {
    if (!function.is_entry || !function.has_body) continue;
    names += function.name;
    names += '\0';
    ++reply.count;
  }
  session.reply_with(wire::kSuccess, reply, wire::bytes_of_text(names));
}

}  // namespace

void register_module_calls(Cluster& cluster) {
  Dispatcher& dispatcher = cluster.dispatcher;
  const auto on = [&]<typename Request>(auto handler, VTime cost = kCallCost) {
    dispatcher.on<Request>(
        [&cluster, handler](Session& session, const Request& request, wire::Bytes tail) {
          handler(cluster, session, request, tail);
        },
        Turn::InTime, cost);
  };
  const auto without_tail = [](auto handler) {
    return [handler](Cluster& c, Session& s, const auto& r, wire::Bytes) { handler(c, s, r); };
  };
  on.template operator()<wire::LoadModule>(load, 0);
  on.template operator()<wire::UnloadModule>(
      without_tail([](Cluster&, Session& session, const wire::UnloadModule& request) {
        session.process->modules.erase(request.module);
        session.reply(wire::kSuccess);
      }));
  on.template operator()<wire::GetFunction>(get_function, 0);
  on.template operator()<wire::GetFunctionInfo>(without_tail(function_info));
  on.template operator()<wire::SetFunctionAttribute>(without_tail(set_attribute));
  on.template operator()<wire::GetSymbol>(get_symbol);
  on.template operator()<wire::MapManaged>(map_managed);
  const auto launch_cost = static_cast<VTime>(cluster.options.gpu.host_launch_us *
                                              static_cast<double>(vgpu::kMicrosecond));
  on.template operator()<wire::Launch>(launch, launch_cost);
  on.template operator()<wire::GetOccupancy>(without_tail(occupancy));
  on.template operator()<wire::ListFunctions>(without_tail(list));
}

}  // namespace cuco::vcluster

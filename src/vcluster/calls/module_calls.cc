// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "shims/wire/messages_managed.h"
#include "shims/wire/messages_module.h"
#include "shims/wire/status.h"
#include "system/os/streams.h"
#include "vcluster/calls/calls.h"
#include "vcluster/core/ids.h"
#include "vcluster/core/operation.h"
#include "vcluster/device/allocations.h"
#include "vcluster/device/kernel_launch.h"
#include "vcluster/device/loaded_module.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/replies.h"
#include "vgpu/memory/address_map.h"

namespace cuco::vcluster {
namespace {

constexpr std::uint64_t kMaxImages = 4096;
constexpr std::uint64_t kMaxImageBytes = std::uint64_t{2} << 30U;

struct Range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

void load(const ModuleParts& parts,
          Session& session,
          const wire::LoadModule& request,
          wire::Bytes tail) {
  const wire::Fd fd = session.take_fd();
  const auto size = system::size_of(fd.get());
  if (!size) return session.refuse("a module without file");
  const auto ranges = wire::read_array<Range>(tail, request.images);
  if (!ranges || request.images > kMaxImages) return session.refuse("a module of too many images");
  std::vector<std::vector<std::byte>> images;
  for (const Range& range : *ranges) {
    if (range.bytes > kMaxImageBytes || range.offset > *size ||
        range.bytes > *size - range.offset) {
      return session.refuse("a module image outside of its file");
    }
    // A copy, so that the file's writer cannot change it any more.
    images.emplace_back(range.bytes);
    if (!system::read_exactly_at(fd.get(), range.offset, images.back())) {
      return session.refuse("a module image that cannot be read");
    }
  }
  const auto& gpu = parts.devices.description();
  const auto module =
      make_module(parts.ids.next(), images, gpu.compute_major * 10 + gpu.compute_minor);
  session.process->modules[module->id] = module;
  session.reply_with(wire::kSuccess, wire::LoadModule::Reply{.module = module->id});
}

struct Found {
  std::shared_ptr<Function> function;
  const vgpu::KernelInfo* info = nullptr;
};

/// The function with its description on the device; replies with the error if there is none.
std::optional<Found> find_function(const ModuleParts& parts,
                                   Session& session,
                                   std::uint64_t id,
                                   std::int32_t device) {
  Process& process = *session.process;
  const auto found = process.functions.find(id);
  std::int32_t status = wire::kInvalidDeviceFunction;
  if (found != process.functions.end() && process.sees(device)) {
    const auto program =
        program_on(parts.devices, parts.check, process, *found->second->module, device);
    const auto kernel = program
                            ? find_kernel(*found->second->module, **program, found->second->name)
                            : std::optional<std::uint32_t>{};
    if (kernel) return Found{found->second, &(*program)->kernel_info(*kernel)};
    if (!program) status = wire::kNoKernelImageForDevice;
  }
  reply_status(session, nullptr, status);
  return std::nullopt;
}

void get_function(const ModuleParts& parts,
                  Session& session,
                  const wire::GetFunction& request,
                  wire::Bytes tail) {
  Process& process = *session.process;
  const auto module = process.modules.find(request.module);
  if (module == process.modules.end() || !process.sees(request.device)) {
    return session.reply(wire::kInvalidDeviceFunction);
  }
  auto function = std::make_shared<Function>();
  function->id = parts.ids.next();
  function->module = module->second;
  function->name = std::string(wire::text_of(tail));
  process.functions[function->id] = function;
  const auto found = find_function(parts, session, function->id, request.device);
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

void function_info(const ModuleParts& parts,
                   Session& session,
                   const wire::GetFunctionInfo& request) {
  const auto found = find_function(parts, session, request.function, request.device);
  if (!found) return;
  const auto& gpu = parts.devices.description();
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
  const std::uint32_t limit = dynamic_smem_limit(parts.devices, *found->function, request.device);
  const bool opted_in = found->function->max_dynamic_smem.contains(request.device);
  // CUDA counts static shared memory against the default limit, not against what was opted in to.
  reply.max_dynamic_smem = opted_in ? limit : limit - std::min(limit, found->info->static_shared);
  const auto carveout = found->function->carveout.find(request.device);
  if (carveout != found->function->carveout.end()) reply.preferred_carveout = carveout->second;
  session.reply_with(wire::kSuccess, reply);
}

void set_attribute(const ModuleParts& parts,
                   Session& session,
                   const wire::SetFunctionAttribute& request) {
  constexpr std::int32_t kMaxDynamicSharedMemorySize = 8;
  constexpr std::int32_t kPreferredCarveout = 9;
  const auto found = find_function(parts, session, request.function, request.device);
  if (!found) return;
  if (request.attribute == kMaxDynamicSharedMemorySize) {
    const std::int64_t most = std::int64_t{parts.devices.description().shared_per_block_optin} -
                              found->info->static_shared;
    if (request.value < 0 || request.value > most) return session.reply(wire::kInvalidValue);
    found->function->max_dynamic_smem[request.device] = static_cast<std::uint32_t>(request.value);
  } else if (request.attribute == kPreferredCarveout) {
    if (request.value < -1 || request.value > 100) return session.reply(wire::kInvalidValue);
    found->function->carveout[request.device] = request.value;
  }
  session.reply(wire::kSuccess);
}

void get_symbol(const ModuleParts& parts,
                Session& session,
                const wire::GetSymbol& request,
                wire::Bytes tail) {
  Process& process = *session.process;
  const auto module = process.modules.find(request.module);
  if (module == process.modules.end() || !process.sees(request.device)) {
    return session.reply(wire::kInvalidSymbol);
  }
  const auto program =
      program_on(parts.devices, parts.check, process, *module->second, request.device);
  if (!program) return reply_status(session, nullptr, wire::kNoKernelImageForDevice);
  const auto symbol = (*program)->find_symbol(wire::text_of(tail));
  if (!symbol) return session.reply(wire::kInvalidSymbol);
  session.reply_with(wire::kSuccess,
                     wire::GetSymbol::Reply{.address = symbol->address, .bytes = symbol->bytes});
}

void map_managed(const ModuleParts& parts,
                 Session& session,
                 const wire::MapManaged& request,
                 wire::Bytes tail) {
  Process& process = *session.process;
  const auto module = process.modules.find(request.module);
  if (module == process.modules.end() || !process.sees(request.device)) {
    return session.reply(wire::kInvalidSymbol);
  }
  const auto program =
      program_on(parts.devices, parts.check, process, *module->second, request.device);
  if (!program) return reply_status(session, nullptr, wire::kNoKernelImageForDevice);
  const auto symbol = (*program)->find_symbol(wire::text_of(tail));
  if (!symbol || !symbol->managed) return session.reply(wire::kInvalidSymbol);
  // The memory itself may be another device's.
  const vgpu::Address there = parts.devices.memory().canonical(symbol->address);
  const unsigned device = parts.devices.memory().granule(there).owner;
  wire::MapManaged::Reply reply;
  reply.address = symbol->address;
  reply.bytes = symbol->bytes;
  reply.file_offset = there - vgpu::device_base(device);
  parts.allocations.add(symbol->address, {.bytes = symbol->bytes,
                                          .kind = wire::MemoryKind::Managed,
                                          .device = request.device,
                                          .process = process.index});
  session.reply_with(wire::kSuccess, reply, {}, parts.devices.memory().device_fd(device));
}

void launch(const ModuleParts& parts,
            Session& session,
            const wire::Launch& request,
            wire::Bytes tail) {
  Context* context = parts.processes.context(*session.process, request.stream.device);
  if (context == nullptr) return session.reply(wire::kInvalidDevice);
  if (context->error != 0) return reply_status(session, context, wire::kSuccess);
  Parsed parsed = parts.operations.parse_launch(session, request, tail);
  if (parsed.status == wire::kSuccess) {
    Stream* stream = parts.processes.stream(session, request.stream);
    parsed.status = parts.operations.enqueue(*stream, std::move(parsed.operation)).status;
  }
  reply_status(session, context, parsed.status);
}

void occupancy(const ModuleParts& parts, Session& session, const wire::GetOccupancy& request) {
  const auto found = find_function(parts, session, request.function, request.device);
  if (!found) return;
  wire::GetOccupancy::Reply reply;
  const std::uint64_t most = parts.devices.description().shared_per_block_optin;
  if (request.block_threads > 0 && request.block_threads <= found->info->max_threads &&
      request.dynamic_smem <= most) {
    reply.blocks_per_sm = parts.devices.gpu(request.device)
                              .occupancy(*found->info, request.block_threads,
                                         static_cast<std::uint32_t>(request.dynamic_smem));
  }
  session.reply_with(wire::kSuccess, reply);
}

void list(const ModuleParts& parts, Session& session, const wire::ListFunctions& request) {
  Process& process = *session.process;
  const auto module = process.modules.find(request.module);
  if (module == process.modules.end()) return session.reply(wire::kInvalidResourceHandle);
  const auto program =
      program_on(parts.devices, parts.check, process, *module->second, process.devices.front());
  if (!program) return reply_status(session, nullptr, wire::kInvalidKernelImage);
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

void register_module_calls(Dispatcher& dispatcher, const ModuleParts& parts) {
  const auto on = [&]<typename Request>(auto handler, VTime cost = kCallCost) {
    dispatcher.on<Request>(
        [parts, handler](Session& session, const Request& request, wire::Bytes tail) {
          handler(parts, session, request, tail);
        },
        Turn::InTime, cost);
  };
  const auto without_tail = [](auto handler) {
    return [handler](const ModuleParts& p, Session& s, const auto& r, wire::Bytes) {
      handler(p, s, r);
    };
  };
  on.template operator()<wire::LoadModule>(load, 0);
  on.template operator()<wire::UnloadModule>(
      without_tail([](const ModuleParts&, Session& session, const wire::UnloadModule& request) {
        session.process->modules.erase(request.module);
        session.reply(wire::kSuccess);
      }));
  on.template operator()<wire::GetFunction>(get_function, 0);
  on.template operator()<wire::GetFunctionInfo>(without_tail(function_info));
  on.template operator()<wire::SetFunctionAttribute>(without_tail(set_attribute));
  on.template operator()<wire::GetSymbol>(get_symbol);
  on.template operator()<wire::MapManaged>(map_managed);
  const auto launch_cost = static_cast<VTime>(parts.devices.description().host_launch_us *
                                              static_cast<double>(vgpu::kMicrosecond));
  on.template operator()<wire::Launch>(launch, launch_cost);
  on.template operator()<wire::GetOccupancy>(without_tail(occupancy));
  on.template operator()<wire::ListFunctions>(without_tail(list));
}

}  // namespace cuco::vcluster

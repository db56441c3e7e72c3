// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "shims/wire/messages_device.h"
#include "shims/wire/status.h"
#include "vcluster/calls/calls.h"
#include "vcluster/device/allocations.h"
#include "vcluster/graph/cuda_graph.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/replies.h"

namespace cuco::vcluster {
namespace {

wire::DeviceInfo describe_device(const DeviceParts& parts, std::uint32_t device) {
  const hardware::GpuDescription& gpu = parts.devices.description();
  wire::DeviceInfo info;
  std::memcpy(info.name, gpu.name.data(), std::min(gpu.name.size(), sizeof info.name - 1));
  // Any will do that differs from device to device and is the same in every process.
  info.uuid[0] = 0xC0;
  info.uuid[1] = 0xC0;
  info.uuid[15] = static_cast<std::uint8_t>(device);
  info.total_memory = gpu.memory_bytes;
  info.l2_bytes = gpu.l2_bytes;
  info.smem_per_sm = gpu.shared_per_sm;
  info.smem_per_block = gpu.shared_per_block;
  info.smem_per_block_optin = gpu.shared_per_block_optin;
  info.smem_reserved_per_block = gpu.shared_reserved;
  info.major = gpu.compute_major;
  info.minor = gpu.compute_minor;
  info.sm_count = gpu.sms;
  info.threads_per_sm = gpu.threads_per_sm;
  info.blocks_per_sm = gpu.blocks_per_sm;
  info.registers_per_sm = gpu.registers_per_sm;
  info.clock_khz = static_cast<std::uint32_t>(std::lround(gpu.clock_ghz * 1e6));
  info.memory_clock_khz = static_cast<std::uint32_t>(std::lround(gpu.memory_clock_ghz * 1e6));
  info.memory_bus_bits = gpu.memory_bus_bits;
  info.pci_bus = 0x10 + device;
  info.node =
      static_cast<std::uint32_t>(parts.devices.topology().node_of(static_cast<int>(device)));
  info.has_multicast = parts.devices.topology().multicast ? 1 : 0;
  return info;
}

void synchronize(const DeviceParts& parts, Session& session, std::int32_t device) {
  Context* context = parts.processes.context(*session.process, device);
  if (context == nullptr) return session.reply(wire::kInvalidDevice);
  if (Capture* capture = forbidding_capture(*session.process, session.thread)) {
    invalidate(*capture);
    return session.reply(wire::kStreamCaptureUnsupported);
  }
  parts.replies.when_done(session, context->streams.unfinished(), context,
                          "device " + std::to_string(device) + " (cudaDeviceSynchronize)");
}

void reset(const DeviceParts& parts, Session& session, std::int32_t device) {
  Process& process = *session.process;
  Context* context = parts.processes.context(process, device);
  if (context == nullptr) return session.reply(wire::kInvalidDevice);
  vgpu::Gpu& gpu = parts.devices.gpu(device);
  // Ending a grid takes it out of the set.
  const auto grids = context->grids;
  for (const std::uint64_t grid : grids) {
    gpu.kill(grid, vgpu::TrapKind::Cancelled, "cudaDeviceReset");
  }
  // Pinned and managed memory is not the device's, and stays.
  std::vector<std::uint64_t> mine;
  for (const auto& [base, allocation] : parts.allocations.all()) {
    if (allocation.process == process.index && allocation.device == device &&
        allocation.kind == wire::MemoryKind::Device) {
      mine.push_back(base);
    }
  }
  for (const std::uint64_t base : mine) {
    parts.allocations.release(base);
    parts.allocations.erase(base);
  }
  parts.processes.retire(process, device);
  reply_status(session, nullptr, wire::kSuccess);
}

void peer_access(const DeviceParts& parts, Session& session, const wire::PeerAccess& request) {
  Context* context = parts.processes.context(*session.process, request.device);
  if (context == nullptr || !session.process->sees(request.peer)) {
    return session.reply(wire::kInvalidDevice);
  }
  const bool possible = request.device != request.peer &&
                        parts.devices.topology().same_domain(request.device, request.peer);
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(request.peer);
  const bool enabled = (context->peers & bit) != 0;
  std::int32_t status = wire::kSuccess;
  if (request.action == wire::PeerAccess::kEnable) {
    if (request.device == request.peer) {
      status = wire::kInvalidDevice;
    } else if (!possible) {
      status = wire::kPeerAccessUnsupported;
    } else {
      status = enabled ? wire::kPeerAccessAlreadyEnabled : wire::kSuccess;
      context->peers |= bit;
    }
  } else if (request.action == wire::PeerAccess::kDisable) {
    if (!enabled) status = wire::kPeerAccessNotEnabled;
    context->peers &= ~bit;
  }
  session.reply_with(status, wire::PeerAccess::Reply{.possible = possible ? 1U : 0U});
}

}  // namespace

void register_device_calls(Dispatcher& dispatcher, const DeviceParts& parts) {
  dispatcher.on<wire::GetDeviceInfo>(
      [parts](Session& session, const wire::GetDeviceInfo& request, wire::Bytes) {
        if (!session.process->sees(request.device)) return session.reply(wire::kInvalidDevice);
        session.reply_with(wire::kSuccess,
                           describe_device(parts, static_cast<std::uint32_t>(request.device)));
      },
      Turn::AtOnce);
  dispatcher.on<wire::DeviceSynchronize>(
      [parts](Session& session, const wire::DeviceSynchronize& request, wire::Bytes) {
        synchronize(parts, session, request.device);
      });
  dispatcher.on<wire::DeviceReset>([parts](Session& session, const wire::DeviceReset& request,
                                           wire::Bytes) { reset(parts, session, request.device); });
  dispatcher.on<wire::GetMemoryInfo>([parts](Session& session, const wire::GetMemoryInfo& request,
                                             wire::Bytes) {
    if (!session.process->sees(request.device)) return session.reply(wire::kInvalidDevice);
    const std::uint64_t total = parts.devices.description().memory_bytes;
    const std::uint64_t used =
        parts.devices.memory().allocated_bytes(static_cast<unsigned>(request.device));
    session.reply_with(wire::kSuccess, wire::GetMemoryInfo::Reply{
                                           .free = total - std::min(used, total), .total = total});
  });
  dispatcher.on<wire::PeekError>(
      [parts](Session& session, const wire::PeekError& request, wire::Bytes) {
        reply_status(session, parts.processes.context(*session.process, request.device),
                     wire::kSuccess);
      });
  dispatcher.on<wire::PeerAccess>([parts](Session& session, const wire::PeerAccess& request,
                                          wire::Bytes) { peer_access(parts, session, request); });
  dispatcher.on<wire::SetLimit>(
      [parts](Session& session, const wire::SetLimit& request, wire::Bytes) {
        Context* context = parts.processes.context(*session.process, request.device);
        if (context == nullptr) return session.reply(wire::kInvalidDevice);
        context->limits[request.limit] = request.value;
        session.reply(wire::kSuccess);
      });
}

}  // namespace cuco::vcluster

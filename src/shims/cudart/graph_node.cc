// SPDX-License-Identifier: Apache-2.0
#include "shims/cudart/graph_node.h"

#include "shims/cudart/client_launch.h"
#include "shims/cudart/host_memory.h"
#include "shims/cudart/registry.h"
#include "shims/cudart/runtime.h"
#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_memory.h"
#include "shims/wire/messages_stream.h"

namespace cuco::cudart {
namespace {

template <typename Request>
NodeContent message(const Request& request, wire::Bytes tail = {}) {
  NodeContent content;
  content.operation = Request::kType;
  wire::append(content.payload, request);
  content.payload.insert(content.payload.end(), tail.begin(), tail.end());
  return content;
}

NodeContent failure(Error status) {
  NodeContent content;
  content.status = status;
  return content;
}

}  // namespace

NodeContent content_of(const KernelNode& node) {
  Kernel* kernel = find_kernel(node.function);
  if (kernel == nullptr) return failure(wire::kInvalidDeviceFunction);
  if (node.extra != nullptr) return failure(wire::kNotSupported);
  place_all_managed();
  if (const Error status = load(*kernel); status != 0) return failure(status);
  std::vector<std::byte> packed;
  if (const Error status = pack_arguments(*kernel, node.arguments, &packed); status != 0) {
    return failure(status);
  }
  const LaunchOptions options{
      .grid = node.grid, .block = node.block, .dynamic_smem = node.dynamic_smem};
  return message(launch_message(*kernel, options), packed);
}

NodeContent content_of(const CopyRequest& node) {
  wire::Copy request;
  if (const Error status = node_message(node, &request); status != 0) return failure(status);
  return message(request);
}

NodeContent content_of(const Copy3d& node) {
  if (node.src_array != nullptr || node.dst_array != nullptr) return failure(wire::kNotSupported);
  const auto start = [](const PitchedPointer& p, const Position& at) {
    return static_cast<std::byte*>(p.ptr) + at.z * p.pitch * p.ysize + at.y * p.pitch + at.x;
  };
  return content_of(CopyRequest{.to = start(node.dst, node.dst_pos),
                                .to_pitch = node.dst.pitch,
                                .to_slice = node.dst.pitch * node.dst.ysize,
                                .from = start(node.src, node.src_pos),
                                .from_pitch = node.src.pitch,
                                .from_slice = node.src.pitch * node.src.ysize,
                                .width = node.extent.width,
                                .height = node.extent.height,
                                .depth = node.extent.depth,
                                .kind = node.kind});
}

NodeContent content_of(const FillNode& node) {
  wire::Fill request;
  request.stream = stream_ref(nullptr);
  request.address = registered_alias(node.dst).value_or(reinterpret_cast<std::uint64_t>(node.dst));
  request.pitch = node.pitch;
  request.slice = node.pitch * node.height;
  request.width = node.width;
  request.height = node.height;
  request.value = node.value;
  request.element_bytes = node.element_bytes;
  return message(request);
}

NodeContent content_of(const HostNode& node) {
  if (node.function == nullptr) return failure(wire::kInvalidValue);
  if (!ensure_service()) return failure(wire::kMemoryAllocation);
  wire::HostFunction request;
  request.function = reinterpret_cast<std::uint64_t>(node.function);
  request.argument = reinterpret_cast<std::uint64_t>(node.argument);
  return message(request);
}

NodeContent content_of_record(EventHandle event) {
  return message(wire::EventRecord{.event = number_of(event)});
}

NodeContent content_of_wait(EventHandle event) {
  return message(wire::StreamWaitEvent{.event = number_of(event)});
}

NodeContent content_of_child(GraphHandle graph) {
  return message(wire::GraphLaunch{.exec = number_of(graph)});
}

NodeContent content_of(const AllocationNode& node) {
  const int device = cluster_device(node.pool.location.id);
  if (device < 0) return failure(wire::kInvalidDevice);
  return message(wire::AllocateAsync{.device = device, .bytes = node.bytes});
}

NodeContent content_of_free(void* address) {
  return message(
      wire::FreeAsync{.device = here(), .address = reinterpret_cast<std::uint64_t>(address)});
}

NodeContent content_of(const NodeParameters& node) {
  switch (node.type) {
    case 0:
      return content_of(node.kernel);
    case 1:
      return content_of(node.memcpy.copy);
    case 2:
      return content_of(node.memset);
    case 3:
      return content_of(node.host);
    case 4:
      return content_of_child(node.child.graph);
    case 5:
      return {};
    case 6:
      return content_of_wait(node.event.event);
    case 7:
      return content_of_record(node.event.event);
    case kAllocationNode:
      return content_of(node.allocation);
    case kFreeNode:
      return content_of_free(node.free.address);
    default:
      return failure(wire::kNotSupported);
  }
}

NodeContent content_to(const SymbolEnd& symbol, const void* from) {
  void* address = nullptr;
  const Error status = symbol_address(symbol.symbol, symbol.offset, symbol.bytes, &address);
  if (status != 0) return failure(status);
  return content_of(linear_copy(address, from, symbol.bytes, symbol.kind));
}

NodeContent content_from(const SymbolEnd& symbol, void* to) {
  void* address = nullptr;
  const Error status = symbol_address(symbol.symbol, symbol.offset, symbol.bytes, &address);
  if (status != 0) return failure(status);
  return content_of(linear_copy(to, address, symbol.bytes, symbol.kind));
}

CopyRequest linear_copy(void* to, const void* from, std::size_t bytes, int kind) {
  return {.to = to,
          .to_pitch = bytes,
          .to_slice = bytes,
          .from = from,
          .from_pitch = bytes,
          .from_slice = bytes,
          .width = bytes,
          .kind = kind};
}

}  // namespace cuco::cudart

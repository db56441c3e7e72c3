// SPDX-License-Identifier: Apache-2.0
// Memory of graphs: reading nodes back, and what graphs hold of a device's memory.
#include "shims/cudart/graph_node.h"
#include "shims/cudart/runtime.h"
#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_memory.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

constexpr int kMemAttributes = 4;

template <typename Request>
Error read_node(NodeHandle node, Request* request, wire::GraphGetNode::Reply* reply) {
  wire::Bytes tail;
  const Error status = call(wire::GraphGetNode{.node = number_of(node)}, reply, {}, &tail);
  if (status != 0) return status;
  const auto found = wire::read_front<Request>(tail);
  if (reply->operation != Request::kType || !found) return wire::kInvalidValue;
  *request = *found;
  return 0;
}

Error ask(int device, wire::GraphMemoryCall::What what, wire::GraphMemoryCall::Reply* reply) {
  const int where = cluster_device(device);
  if (where < 0) return wire::kInvalidDevice;
  return call(wire::GraphMemoryCall{.device = where, .what = what}, reply);
}

}  // namespace

CUCO_CUDART Error cudaGraphMemAllocNodeGetParams(NodeHandle node, AllocationNode* content) {
  if (content == nullptr) return done(wire::kInvalidValue);
  wire::AllocateAsync request;
  wire::GraphGetNode::Reply reply;
  const Error status = read_node(node, &request, &reply);
  if (status == 0) {
    constexpr int kPinned = 1;
    constexpr int kOnDevice = 1;
    *content = {};
    content->pool.allocation_type = kPinned;
    content->pool.location = {kOnDevice, ordinal_of(request.device)};
    content->bytes = request.bytes;
    content->address = reinterpret_cast<void*>(reply.address);
  }
  return done(status);
}

CUCO_CUDART Error cudaGraphMemFreeNodeGetParams(NodeHandle node, void* address) {
  if (address == nullptr) return done(wire::kInvalidValue);
  wire::FreeAsync request;
  wire::GraphGetNode::Reply reply;
  const Error status = read_node(node, &request, &reply);
  if (status == 0) *static_cast<std::uint64_t*>(address) = request.address;
  return done(status);
}

CUCO_CUDART Error cudaDeviceGetGraphMemAttribute(int device, int attribute, void* value) {
  if (value == nullptr || attribute < 0 || attribute >= kMemAttributes) {
    return done(wire::kInvalidValue);
  }
  wire::GraphMemoryCall::Reply reply;
  const Error status = ask(device, static_cast<wire::GraphMemoryCall::What>(attribute), &reply);
  if (status == 0) *static_cast<std::uint64_t*>(value) = reply.value;
  return done(status);
}

// Only the high-water marks can be set, and only to where the level is now.
CUCO_CUDART Error cudaDeviceSetGraphMemAttribute(int device, int attribute, void* value) {
  if (value == nullptr || *static_cast<std::uint64_t*>(value) != 0 ||
      (attribute != wire::GraphMemoryCall::kUsedHigh &&
       attribute != wire::GraphMemoryCall::kReservedHigh)) {
    return done(wire::kInvalidValue);
  }
  wire::GraphMemoryCall::Reply reply;
  return done(ask(device,
                  attribute == wire::GraphMemoryCall::kUsedHigh
                      ? wire::GraphMemoryCall::kResetUsedHigh
                      : wire::GraphMemoryCall::kResetReservedHigh,
                  &reply));
}

CUCO_CUDART Error cudaDeviceGraphMemTrim(int device) {
  wire::GraphMemoryCall::Reply reply;
  return done(ask(device, wire::GraphMemoryCall::kTrim, &reply));
}

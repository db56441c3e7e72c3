// SPDX-License-Identifier: Apache-2.0
// Reading graphs back: a kernel node's parameters, and a picture of the whole.
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shims/cudart/graph_node.h"
#include "shims/cudart/registry.h"
#include "shims/cudart/runtime.h"
#include "shims/wire/messages_graph.h"
#include "shims/wire/messages_module.h"

using namespace cuco::cudart;  // NOLINT(google-build-using-namespace): the ABI is global
namespace wire = cuco::wire;

namespace {

constexpr Error kOperatingSystem = 304;  // cudaErrorOperatingSystem

/// The arguments that cudaGraphKernelNodeGetParams showed: they live as long as the node.
struct ShownArguments {
  std::vector<std::byte> bytes;
  std::vector<void*> pointers;
};

/// Never destroyed: static destructors of the program still call us.
void** keep(std::uint64_t node, wire::Bytes arguments, const Kernel& kernel) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const all = new std::map<std::uint64_t, std::unique_ptr<ShownArguments>>;
  auto shown = std::make_unique<ShownArguments>();
  shown->bytes.assign(arguments.begin(), arguments.end());
  for (const Kernel::Parameter& parameter : kernel.parameters) {
    if (parameter.offset + parameter.bytes > shown->bytes.size()) return nullptr;
    shown->pointers.push_back(shown->bytes.data() + parameter.offset);
  }
  const std::lock_guard lock(*mutex);
  return ((*all)[node] = std::move(shown))->pointers.data();
}

Error node_list(GraphHandle graph, wire::GraphList::What what, std::vector<std::uint64_t>* values) {
  wire::GraphList::Reply reply;
  wire::Bytes tail;
  const Error status =
      call(wire::GraphList{.what = what, .object = number_of(graph)}, &reply, {}, &tail);
  if (status == 0) *values = wire::read_array<std::uint64_t>(tail, reply.count).value_or(*values);
  return status;
}

}  // namespace

CUCO_CUDART Error cudaGraphKernelNodeGetParams(NodeHandle node, KernelNode* content) {
  if (content == nullptr) return done(wire::kInvalidValue);
  wire::GraphGetNode::Reply reply;
  wire::Bytes tail;
  const Error status = call(wire::GraphGetNode{.node = number_of(node)}, &reply, {}, &tail);
  if (status != 0) return done(status);
  const auto launch = wire::read_front<wire::Launch>(tail);
  if (reply.operation != wire::Launch::kType || !launch) return done(wire::kInvalidValue);
  const auto [function, kernel] = function_of(launch->function);
  if (kernel == nullptr) return done(wire::kInvalidDeviceFunction);
  const auto size = [](const std::uint32_t(&from)[3]) { return Dim3{from[0], from[1], from[2]}; };
  *content = {.function = const_cast<void*>(function),
              .grid = size(launch->grid),
              .block = size(launch->block),
              .dynamic_smem = static_cast<unsigned>(launch->dynamic_smem),
              .arguments = keep(number_of(node), tail.subspan(sizeof(wire::Launch)), *kernel),
              .extra = nullptr};
  return 0;
}

CUCO_CUDART Error cudaGraphDebugDotPrint(GraphHandle graph, const char* path, unsigned /*flags*/) {
  if (path == nullptr) return done(wire::kInvalidValue);
  std::vector<std::uint64_t> nodes;
  std::vector<std::uint64_t> edges;
  Error status = node_list(graph, wire::GraphList::kNodes, &nodes);
  if (status == 0) status = node_list(graph, wire::GraphList::kEdges, &edges);
  if (status != 0) return done(status);
  std::string text = "digraph dot {\n";
  for (const std::uint64_t node : nodes) {
    constexpr const char* kNames[] = {"kernel", "memcpy",     "memset",       "host",
                                      "graph",  "empty",      "event wait",   "event record",
                                      "signal", "semaphores", "memory alloc", "memory free"};
    const int type = node_type(handle_of<NodeHandle>(node));
    text += "\"" + std::to_string(node) + "\" [label=\"" + std::to_string(node) + " " +
            (type >= 0 ? kNames[type] : "?") + "\"];\n";
  }
  for (std::size_t i = 0; i + 1 < edges.size(); i += 2) {
    text += "\"" + std::to_string(edges[i]) + "\" -> \"" + std::to_string(edges[i + 1]) + "\";\n";
  }
  text += "}\n";
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return done(kOperatingSystem);
  const bool written = std::fputs(text.c_str(), file) >= 0;
  return done(std::fclose(file) == 0 && written ? 0 : Error{kOperatingSystem});
}

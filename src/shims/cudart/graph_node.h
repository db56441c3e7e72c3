// SPDX-License-Identifier: Apache-2.0
/// \file
/// Graph nodes' contents as messages: what a node does is what the same call in a stream would do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shims/cudart/abi.h"
#include "shims/cudart/client_copy.h"

namespace cuco::cudart {

/// A message type and its payload, for GraphAddNode and GraphSetNode.
struct NodeContent {
  Error status = 0;
  std::uint32_t operation = 0;
  std::vector<std::byte> payload;
};

[[nodiscard]] NodeContent content_of(const KernelNode& node);
[[nodiscard]] NodeContent content_of(const Copy3d& node);
[[nodiscard]] NodeContent content_of(const CopyRequest& node);
[[nodiscard]] NodeContent content_of(const FillNode& node);
[[nodiscard]] NodeContent content_of(const HostNode& node);
[[nodiscard]] NodeContent content_of_record(EventHandle event);
[[nodiscard]] NodeContent content_of_wait(EventHandle event);
[[nodiscard]] NodeContent content_of_child(GraphHandle graph);
[[nodiscard]] NodeContent content_of(const AllocationNode& node);
[[nodiscard]] NodeContent content_of_free(void* address);
[[nodiscard]] NodeContent content_of(const NodeParameters& node);

/// cudaGraphNodeType, -1 if there is no such node.
[[nodiscard]] int node_type(NodeHandle node);

/// A copy between memory and a variable of the program.
struct SymbolEnd {
  const void* symbol = nullptr;
  std::size_t bytes = 0;
  std::size_t offset = 0;
  int kind = kDefaultKind;
};
[[nodiscard]] NodeContent content_to(const SymbolEnd& symbol, const void* from);
[[nodiscard]] NodeContent content_from(const SymbolEnd& symbol, void* to);

/// A 1D copy as a node.
[[nodiscard]] CopyRequest linear_copy(void* to, const void* from, std::size_t bytes, int kind);

}  // namespace cuco::cudart

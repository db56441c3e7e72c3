// SPDX-License-Identifier: Apache-2.0
#include "expert/forward/shared_buffers.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "program/tokens.h"

namespace cuco::expert::forward {
namespace {

using analysis::Buffer;
using analysis::BufferRole;
using analysis::CommunicationGraph;
using analysis::NestKind;
using analysis::Operation;
using analysis::OperationKind;
using analysis::Span;

constexpr std::string_view kMalloc = "cudaMalloc";
constexpr std::string_view kFree = "cudaFree";

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

const Operation* operation_at(const CommunicationGraph& graph, const Span& span) {
  const auto found = std::ranges::find(graph.operations, span, &Operation::span);
  return found == graph.operations.end() ? nullptr : &*found;
}

/// All ranks allocate together, on the communicator's device, when there is one.
Result<void> check_allocation(const CommunicationGraph& graph, const Buffer& buffer) {
  const Operation* made = operation_at(graph, buffer.allocated);
  if (made == nullptr || made->span.from_macro || made->span.elsewhere)
    return no(fmt::format("the allocation of {} is not in the text", buffer.name));
  for (const auto& nest : made->nest) {
    if (nest.kind == NestKind::If || nest.kind == NestKind::Else)
      return no(fmt::format("{} is allocated under a condition: all ranks must do it together",
                            buffer.name));
  }
  if (made->phase != analysis::Phase::SetUp)
    return no(fmt::format("{} is allocated while the program runs", buffer.name));
  if (graph.communicators.size() > 1)
    return no("the program has several communicators: whose memory is shared is not known");
  for (const Operation& other : graph.operations) {
    if (other.name == "ncclCommInitAll")
      return no("one thread drives several GPUs, and cannot allocate for all of them at once");
    const bool makes = other.kind == OperationKind::Create && other.name.starts_with("ncclComm");
    if (makes && &other > made)
      return no(fmt::format("{} is allocated before the communicator is made", buffer.name));
  }
  return {};
}

}  // namespace

Result<SharedBuffers> share_buffers(const CommunicationGraph& graph,
                                    std::string_view text,
                                    const std::vector<int>& buffers) {
  SharedBuffers shared;
  std::set<std::size_t> changed;
  for (const int id : buffers) {
    const Buffer& buffer = graph.buffers[static_cast<std::size_t>(id)];
    if (buffer.role == BufferRole::Output) {
      shared.outputs = true;
      continue;
    }
    if (buffer.role != BufferRole::Scratch || buffer.allocator != kMalloc)
      return no(
          fmt::format("{} receives, and is no output and not made by {}", buffer.name, kMalloc));
    CUCO_TRY(check_allocation(graph, buffer));
    changed.insert(buffer.allocated.begin);
  }
  if (changed.empty()) return shared;
  for (const program::Identifier& name : program::identifiers(text)) {
    if (name.name == kMalloc && changed.erase(name.begin) > 0) shared.names[name.begin] = true;
    if (name.name == kFree) shared.names[name.begin] = false;
  }
  if (!changed.empty()) return no("an allocation is written in a way that is not followed");
  return shared;
}

std::map<std::size_t, std::string> drop_ins_for(const SharedBuffers& shared, bool laned) {
  std::map<std::size_t, std::string> names;
  for (const auto& [place, allocates] : shared.names) {
    names[place] = fmt::format("cuco::{}{}", laned ? "known_" : "",
                               allocates ? "malloc_shared" : "free_shared");
  }
  return names;
}

}  // namespace cuco::expert::forward

// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/nccl_names.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cuco::expert {
namespace {

using emit::Collective;
using emit::Element;
using emit::Reduction;

constexpr auto kDropIns = std::to_array<DropIn>({
    {"ncclAllGather", "all_gather", Collective::AllGather},
    {"ncclAllReduce", "all_reduce", Collective::AllReduce},
    {"ncclReduceScatter", "reduce_scatter", Collective::ReduceScatter},
    {"ncclBroadcast", "broadcast", Collective::Broadcast},
    {"ncclBcast", "bcast", Collective::Broadcast},
    {"ncclReduce", "reduce", Collective::Reduce},
    {"ncclAlltoAll", "all_to_all", Collective::AllToAll},
    {"ncclSend", "send", Collective::Exchange},
    {"ncclRecv", "recv", Collective::Exchange},
    {"ncclGather", "gather", Collective::Exchange},
    {"ncclScatter", "scatter", Collective::Exchange},
    {"ncclGroupStart", "group_start", std::nullopt},
    {"ncclGroupEnd", "group_end", std::nullopt},
    {"ncclCommInitRank", "comm_init_rank", std::nullopt},
    {"ncclCommInitRankConfig", "comm_init_rank_config", std::nullopt},
    {"ncclCommInitAll", "comm_init_all", std::nullopt},
    {"ncclCommSplit", "comm_split", std::nullopt},
    {"ncclCommFinalize", "comm_finalize", std::nullopt},
    {"ncclCommDestroy", "comm_destroy", std::nullopt},
});

/// Names whose presence means that the program does what cannot be taken over here.
struct Obstacle {
  std::string_view name;
  std::string_view why;
};
constexpr auto kObstacles = std::to_array<Obstacle>({
    {"ncclRedOpCreatePreMulSum", "a reduction that NCCL builds at run time has no kernel here"},
    {"ncclDevCommCreate", "its GPUs communicate themselves already"},
    {"ncclCommAbort", "who gives up a communicator cannot meet the other ranks to close it"},
    {"ncclCommShrink", "a communicator that loses ranks is not followed"},
    {"ncclCommInitRankScalable", "a communicator of several ids is not followed"},
    {"ncclFloat8e4m3", "there are no kernels for 8-bit floats"},
    {"ncclFloat8e5m2", "there are no kernels for 8-bit floats"},
});

struct TypeName {
  std::string_view nccl;
  Element element;
};
constexpr auto kTypes = std::to_array<TypeName>({
    {"ncclInt8", Element::Int8},
    {"ncclChar", Element::Int8},
    {"ncclUint8", Element::Uint8},
    {"ncclInt32", Element::Int32},
    {"ncclInt", Element::Int32},
    {"ncclUint32", Element::Uint32},
    {"ncclInt64", Element::Int64},
    {"ncclUint64", Element::Uint64},
    {"ncclFloat16", Element::Half},
    {"ncclHalf", Element::Half},
    {"ncclBfloat16", Element::Bfloat16},
    {"ncclFloat32", Element::Float},
    {"ncclFloat", Element::Float},
    {"ncclFloat64", Element::Double},
    {"ncclDouble", Element::Double},
});

struct OperationName {
  std::string_view nccl;
  Reduction reduction;
};
constexpr auto kOperations = std::to_array<OperationName>({
    {"ncclSum", Reduction::Sum},
    {"ncclProd", Reduction::Prod},
    {"ncclMin", Reduction::Min},
    {"ncclMax", Reduction::Max},
    {"ncclAvg", Reduction::Avg},
});

/// "nccl##name": no name of NCCL stands there, but one comes of it.
bool is_pasted(std::string_view text, const program::Identifier& identifier) {
  if (!identifier.name.starts_with("nccl")) return false;
  const std::size_t next =
      text.find_first_not_of(" \t\\\n", identifier.begin + identifier.name.size());
  return next != std::string_view::npos && text.substr(next).starts_with("##");
}

}  // namespace

std::span<const DropIn> drop_ins() {
  return kDropIns;
}

const DropIn* drop_in_for(std::string_view name) {
  const auto* found = std::ranges::find(kDropIns, name, &DropIn::nccl);
  return found == kDropIns.end() ? nullptr : found;
}

std::string_view nccl_name(Element element) {
  return std::ranges::find(kTypes, element, &TypeName::element)->nccl;
}
std::string_view nccl_name(Reduction reduction) {
  return std::ranges::find(kOperations, reduction, &OperationName::reduction)->nccl;
}

bool Uses::collective(Collective collective) const {
  return std::ranges::any_of(kDropIns, [&](const DropIn& call) {
    return call.collective == collective && functions.contains(call.nccl);
  });
}

Result<Uses> uses_of(std::string_view text) {
  Uses uses;
  for (const program::Identifier& identifier : program::identifiers(text)) {
    if (is_pasted(text, identifier)) {
      return Error{
          ErrorKind::InvalidInput,
          fmt::format("a macro puts names of NCCL together with ## ({}##...), so that they "
                      "cannot be replaced: write them out",
                      identifier.name)};
    }
    for (const Obstacle& obstacle : kObstacles) {
      if (identifier.name != obstacle.name) continue;
      return Error{ErrorKind::InvalidInput,
                   fmt::format("it uses {}: {}", obstacle.name, obstacle.why)};
    }
    if (const DropIn* call = drop_in_for(identifier.name)) uses.functions.insert(call->nccl);
    for (const TypeName& type : kTypes) {
      if (identifier.name == type.nccl) uses.elements.insert(type.element);
    }
    for (const OperationName& operation : kOperations) {
      if (identifier.name == operation.nccl) uses.reductions.insert(operation.reduction);
    }
  }
  const bool communicates = std::ranges::any_of(kDropIns, [&](const DropIn& call) {
    return call.collective && uses.functions.contains(call.nccl);
  });
  if (!communicates)
    return Error{ErrorKind::InvalidInput, "it calls no NCCL function that communicates"};
  if (uses.elements.empty()) {
    for (const TypeName& type : kTypes)
      uses.elements.insert(type.element);
  }
  if (uses.reductions.empty()) {
    for (const OperationName& operation : kOperations)
      uses.reductions.insert(operation.reduction);
  }
  return uses;
}

}  // namespace cuco::expert

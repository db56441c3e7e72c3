// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/standalone.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/edit.h"
#include "expert/emit/emit.h"
#include "program/tokens.h"

namespace cuco::expert {
namespace {

using design::Backend;
using emit::Collective;
using emit::Element;
using emit::Reduction;

struct DropIn {
  std::string_view nccl;
  std::string_view own;  ///< In namespace cuco.
  std::optional<Collective> collective;
};

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
    {"ncclGather", "there is no kernel for it yet; sends and receives in a group have one"},
    {"ncclScatter", "there is no kernel for it yet; sends and receives in a group have one"},
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

std::string_view nccl_name(Element element) {
  return std::ranges::find(kTypes, element, &TypeName::element)->nccl;
}
std::string_view nccl_name(Reduction reduction) {
  return std::ranges::find(kOperations, reduction, &OperationName::reduction)->nccl;
}

/// What the program names. What it does not name it cannot mean, unless it names none at all.
struct Uses {
  std::set<std::string_view> functions;
  std::set<Element> elements;
  std::set<Reduction> reductions;

  explicit Uses(const std::vector<program::Identifier>& names) {
    for (const program::Identifier& identifier : names) {
      for (const DropIn& call : kDropIns) {
        if (identifier.name == call.nccl) functions.insert(call.nccl);
      }
      for (const TypeName& type : kTypes) {
        if (identifier.name == type.nccl) elements.insert(type.element);
      }
      for (const OperationName& operation : kOperations) {
        if (identifier.name == operation.nccl) reductions.insert(operation.reduction);
      }
    }
    if (elements.empty()) {
      for (const TypeName& type : kTypes)
        elements.insert(type.element);
    }
    if (reductions.empty()) {
      for (const OperationName& operation : kOperations)
        reductions.insert(operation.reduction);
    }
  }

  [[nodiscard]] bool communicates() const {
    return std::ranges::any_of(kDropIns, [&](const DropIn& call) {
      return call.collective && functions.contains(call.nccl);
    });
  }
};

constexpr int kBlocks = 32;
constexpr int kBoxBytes = 32 << 10;

emit::Request request_of(Collective collective, std::string name, Backend backend) {
  emit::Request request;
  request.name = std::move(name);
  request.collective = collective;
  request.element = Element::Uint8;
  request.backend = backend;
  request.blocks = kBlocks;
  request.box_bytes = kBoxBytes;
  return request;
}

std::string without(std::string text, std::string_view what) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
    text.erase(at, what.size());
  return text;
}

/// Writes the header, part by part.
class Header {
 public:
  Header(const Uses& uses, Backend backend) : uses_(uses), backend_(backend) {}

  Result<std::string> text() {
    text_ = fmt::format(
        "// Collectives that the GPUs of this program do themselves, for what it uses of NCCL.\n"
        "#pragma once\n\n#include <map>\n#include <mutex>\n\n#include \"{}\"\n\n"
        "namespace cuco {{\n\nconstexpr Path kPath = Path::{};\n"
        "constexpr Size kSize{{{}, {} << 10}};\n\n",
        emit::kDeviceHeaderName, path(), kBlocks, kBoxBytes >> 10);
    text_ += filled("communicators.cuh", {});
    CUCO_TRY(kernel(request_of(Collective::Exchange, "exchange", backend_)));
    text_ += "\n" + filled("group_calls.cuh", {});
    for (const DropIn& call : kDropIns) {
      if (!call.collective || !uses_.functions.contains(call.nccl)) continue;
      if (*call.collective == Collective::Exchange) continue;
      CUCO_TRY(emit::reduces(*call.collective) ? reducing(call) : moving(call));
    }
    return text_ + "\n}  // namespace cuco\n";
  }

 private:
  [[nodiscard]] std::string_view path() const {
    return backend_ == Backend::Gin ? "Gin" : backend_ == Backend::Hybrid ? "Hybrid" : "Lsa";
  }

  Result<void> kernel(const emit::Request& request) {
    if (!written_.insert(request.name).second) return {};
    CUCO_TRY_ASSIGN(const emit::Emitted emitted, emit::emit(request));
    // It is in the namespace that it names.
    text_ += "\n" + without(emitted.code, "cuco::") + "\n";
    return {};
  }

  /// Bytes are moved, whatever they are.
  Result<void> moving(const DropIn& call) {
    std::string name(call.own == "bcast" ? "broadcast" : call.own);
    CUCO_TRY(kernel(request_of(*call.collective, name + "_bytes", backend_)));
    const bool rooted = emit::has_root(*call.collective);
    const bool one_buffer = call.own == "bcast";
    text_ += fmt::format(
        "\ninline ncclResult_t {}({}, size_t count, ncclDataType_t type,{} "
        "ncclComm_t comm, cudaStream_t stream) {{\n"
        "  const Call call(comm, stream);\n"
        "  if (!call.is_known()) return ncclInvalidArgument;\n"
        "  return {}_bytes(call.site(), (const {}*){}, ({}*){}, count * size_of(type), {}stream);\n"
        "}}\n",
        call.own, one_buffer ? "void* data" : "const void* from, void* to",
        rooted ? " int root," : "", name, emit::cuda_type(Element::Uint8),
        one_buffer ? "data" : "from", emit::cuda_type(Element::Uint8), one_buffer ? "data" : "to",
        rooted ? "root, " : "");
    return {};
  }

  Result<void> reducing(const DropIn& call) {
    const bool rooted = emit::has_root(*call.collective);
    std::string cases;
    for (const Element element : uses_.elements) {
      for (const Reduction reduction : uses_.reductions) {
        CUCO_TRY_ASSIGN(const std::string one, reducing_case(call, element, reduction));
        cases += one;
      }
    }
    text_ += fmt::format(
        "\ninline ncclResult_t {}(const void* from, void* to, size_t count, "
        "ncclDataType_t type, ncclRedOp_t op,{} ncclComm_t comm, cudaStream_t stream) {{\n"
        "  const Call call(comm, stream);\n"
        "  if (!call.is_known()) return ncclInvalidArgument;\n{}"
        "  return ncclInvalidArgument;\n}}\n",
        call.own, rooted ? " int root," : "", cases);
    return {};
  }

  Result<std::string> reducing_case(const DropIn& call, Element element, Reduction reduction) {
    const std::string name = fmt::format("{}_{}_{}", call.own, lower(emit::name(reduction)),
                                         lower(nccl_name(element).substr(4)));
    const bool two_ways = *call.collective == Collective::AllReduce;
    std::vector<std::string> kernels;
    for (const emit::Shots shots : {emit::Shots::One, emit::Shots::Two}) {
      if (!two_ways && shots == emit::Shots::Two) break;
      emit::Request request = request_of(*call.collective, name, backend_);
      request.element = element;
      request.reduction = reduction;
      request.shots = shots;
      if (two_ways) request.name += shots == emit::Shots::One ? "_at_once" : "_by_slices";
      CUCO_TRY(kernel(request));
      kernels.push_back(request.name);
    }
    const auto type = emit::cuda_type(element);
    const std::string arguments =
        fmt::format("(call.site(), (const {}*)from, ({}*)to, count, {}stream)", type, type,
                    emit::has_root(*call.collective) ? "root, " : "");
    // Few bytes: one round for all is faster than two for slices.
    const std::string calls =
        two_ways
            ? fmt::format(
                  "count * sizeof({}) <= (64 << 10)\n               ? {}{}\n               : {}{}",
                  type, kernels[0], arguments, kernels[1], arguments)
            : kernels[0] + arguments;
    return fmt::format("  if (type == {} && op == {}) {{\n    return {};\n  }}\n",
                       nccl_name(element), nccl_name(reduction), calls);
  }

  static std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
      c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return result;
  }

  const Uses& uses_;
  Backend backend_;
  std::string text_;
  std::set<std::string> written_;
};

std::size_t end_of_line(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

/// Behind the line that includes NCCL, or else behind the first that includes anything.
std::size_t place_of_include(std::string_view text, const std::vector<program::Identifier>& names) {
  std::optional<std::size_t> first;
  for (const program::Identifier& name : names) {
    if (name.name != "include") continue;
    const std::size_t end = end_of_line(text, name.begin);
    if (!first) first = end;
    if (text.substr(name.begin, end - name.begin).find("nccl.h") != std::string_view::npos)
      return end;
  }
  return first.value_or(0);
}

std::string include_line(std::string_view header) {
  return fmt::format("#include \"{}\"\n", header);
}

void replace_once(std::string& text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), by);
}

}  // namespace

std::string Standalone::as_one_file() const {
  std::string one = header;
  replace_once(one, "#pragma once\n", "");
  std::string device(emit::device_header());
  replace_once(device, "#pragma once\n", "");
  replace_once(one, include_line(emit::kDeviceHeaderName), device);
  std::string text = program;
  replace_once(text, include_line(kCollectivesHeaderName), one);
  return text;
}

Result<Standalone> with_own_collectives(std::string_view program, Backend backend) {
  const auto names = program::identifiers(program);
  for (const Obstacle& obstacle : kObstacles) {
    if (std::ranges::find(names, obstacle.name, &program::Identifier::name) != names.end()) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("it uses {}: {}", obstacle.name, obstacle.why)};
    }
  }
  const Uses uses(names);
  if (!uses.communicates())
    return Error{ErrorKind::InvalidInput, "it calls no NCCL function that communicates"};
  Standalone result;
  CUCO_TRY_ASSIGN(result.header, Header(uses, backend).text());
  result.header = with_short_lines(result.header);
  Edits edits(program);
  edits.insert(place_of_include(program, names), include_line(kCollectivesHeaderName));
  for (const program::Identifier& name : names) {
    const auto* call = std::ranges::find(kDropIns, name.name, &DropIn::nccl);
    if (call == kDropIns.end()) continue;
    edits.replace(name.begin, name.begin + name.name.size(), fmt::format("cuco::{}", call->own));
    ++result.replaced[std::string(name.name)];
  }
  result.program = edits.apply();
  return result;
}

}  // namespace cuco::expert

// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/collectives_header.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "expert/edit.h"
#include "expert/emit/emit.h"
#include "expert/emit/names.h"

namespace cuco::expert {
namespace {

using emit::Collective;
using emit::Element;
using emit::Reduction;

std::string without(std::string text, std::string_view what) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
    text.erase(at, what.size());
  return text;
}

/// Without the lines that hold `word`.
std::string without_lines(const std::string& text, std::string_view word) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (line.find(word) == std::string_view::npos) result += line;
    at = end;
  }
  return result;
}

/// It stands in the same file: the device header has been included.
std::string as_part(std::string_view header) {
  std::string text = filled(header, {});
  text = without(text, "#pragma once\n\n");
  return without(text, fmt::format("#include \"{}\"\n\n", emit::kDeviceHeaderName)) + "\n";
}

/// Writes the header, part by part.
class Header {
 public:
  Header(const Uses& uses, const OwnDesign& design, Caller caller)
      : uses_(uses), design_(design), caller_(caller) {}

  Result<std::string> text() {
    const bool sends = design_.forwards || design_.chunks;
    text_ = fmt::format(
        "// Collectives that the GPUs of this program do themselves, for what it uses of NCCL.\n"
        "#pragma once\n\n{}#include <map>\n#include <mutex>\n#include <string>\n"
        "#include <utility>\n{}\n#include \"{}\"\n\n{}"
        "namespace cuco {{\n\nconstexpr Path kPath = {};\n"
        "constexpr Size kSize{{{}, {} << 10}};\n\n",
        sends ? "#include <algorithm>\n" : "",
        sends ? "#include <optional>\n#include <set>\n#include <tuple>\n" : "",
        emit::kDeviceHeaderName, device_half_of_sending(),
        without(emit::path_of(design_.backend), "cuco::"), design_.blocks, design_.box_kib);
    if (design_.forwards) text_ += filled("forwarding.cuh", {}) + "\n";
    if (design_.chunks) text_ += chunking(*design_.chunks) + "\n";
    if (design_.share > 0)
      text_ += filled("size_beside.cuh", {{"share", fmt::format("{}", design_.share)}});
    const std::string communicators =
        filled("communicators.cuh", {{"by_device", sends ? filled("by_device.cuh", {}) : ""},
                                     {"size", design_.share > 0 ? "size_beside()" : "kSize"}});
    text_ += sends ? communicators : without_lines(communicators, "orwarding");
    CUCO_TRY(groups());
    // One thread calls, and may not even have the library for more.
    if (caller_ == Caller::SplitWorkload) {
      text_ = without(without_lines(text_, "mutex"), "thread_local ");
      text_ += "\n" + filled("given_communicator.cuh", {});
    }
    for (const DropIn& call : drop_ins()) {
      if (!call.collective || !uses_.functions.contains(call.nccl)) continue;
      if (*call.collective == Collective::Exchange) continue;
      CUCO_TRY(emit::reduces(*call.collective) ? reducing(call) : moving(call));
    }
    return text_ + "\n}  // namespace cuco\n";
  }

 private:
  [[nodiscard]] std::string device_half_of_sending() const {
    if (design_.forwards) return as_part("cuco_forward.cuh");
    return design_.chunks ? as_part("cuco_gather.cuh") : "";
  }

  static std::string_view issuer_name(ChunkIssuer issuer) {
    switch (issuer) {
      case ChunkIssuer::EachBlock:
        return "EachBlock";
      case ChunkIssuer::LastBlock:
        return "LastBlock";
      case ChunkIssuer::OneOfSm:
        return "OneOfSm";
    }
    return {};
  }

  static std::string chunking(const ChunkKnobs& knobs) {
    return filled("chunking.cuh", {{"kib", fmt::format("{}", knobs.kib)},
                                   {"most", fmt::format("{}", knobs.most)},
                                   {"waits", knobs.producer_waits ? "true" : "false"},
                                   {"issuer", std::string(issuer_name(knobs.issuer))}});
  }

  [[nodiscard]] emit::Request request_of(Collective collective, std::string name) const {
    emit::Request request;
    request.name = std::move(name);
    request.collective = collective;
    request.element = Element::Uint8;
    request.backend = design_.backend;
    request.blocks = design_.blocks;
    request.box_bytes = static_cast<std::uint64_t>(design_.box_kib) << 10U;
    return request;
  }

  /// What begins, collects and ends: groups, messages, communicators. As far as it is used.
  Result<void> groups() {
    const bool makes = std::ranges::any_of(
        uses_.functions, [](std::string_view name) { return name.starts_with("ncclComm"); });
    const bool sends = uses_.collective(Collective::Exchange);
    const bool groups =
        uses_.functions.contains("ncclGroupStart") || uses_.functions.contains("ncclGroupEnd");
    if (sends) {
      CUCO_TRY(kernel(request_of(Collective::Exchange, "exchange")));
      const std::string calls = design_.forwards ? filled("planning.cuh", {}) + "\n" +
                                                       filled("forward_calls.cuh", {}) + "\n" +
                                                       filled("shared_memory.cuh", {})
                                                 : filled("send_messages.cuh", {});
      text_ += "\n" + filled("sending.cuh", {{"send_messages", calls}});
    }
    if (makes || sends || groups) {
      // NCCL has a part in a group only where communicators are made in it.
      text_ += "\n" + filled("group_calls.cuh",
                             {{"messages", sends ? "sent_messages(group)" : "ncclSuccess"},
                              {"start", makes ? "ncclGroupStart()" : "ncclSuccess"},
                              {"end", makes ? "ncclGroupEnd()" : "ncclSuccess"}});
    }
    if (makes) text_ += "\n" + filled("communicator_calls.cuh", {});
    if (sends) text_ += "\n" + filled("message_calls.cuh", {});
    const bool rooted =
        uses_.functions.contains("ncclGather") || uses_.functions.contains("ncclScatter");
    if (rooted || design_.forwards) text_ += "\n" + filled("all_messages.cuh", {});
    if (rooted) text_ += "\n" + filled("rooted_messages.cuh", {});
    if (design_.forwards) text_ += "\n" + filled("forward_collectives.cuh", {});
    if (design_.chunks) {
      text_ += "\n" + filled("planning.cuh", {}) + "\n" + filled("shared_memory.cuh", {}) + "\n" +
               filled("chunk_calls.cuh", {});
    }
    return {};
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
    CUCO_TRY(kernel(request_of(*call.collective, name + "_bytes")));
    const bool rooted = emit::has_root(*call.collective);
    const bool one_buffer = call.own == "bcast";
    const bool chunked = design_.chunks && *call.collective == Collective::AllGather;
    const std::string sent_by_kernels =
        chunked ? "  if (const auto done = gathered_by_kernels(from, to, count * size_of(type), "
                  "comm, stream))\n    return *done;\n"
        : design_.forwards
            ? fmt::format(
                  "  if (is_forwarded(comm))\n    return {}_as_messages({}, {}, count * "
                  "size_of(type), {}comm, stream);\n",
                  name, one_buffer ? "data" : "from", one_buffer ? "data" : "to",
                  rooted ? "root, " : "")
            : "";
    text_ += fmt::format(
        "\ninline ncclResult_t {}({}, size_t count, ncclDataType_t type,{} "
        "ncclComm_t comm, cudaStream_t stream) {{\n{}"
        "  const Call call(comm, stream);\n"
        "  if (!call.is_known()) return ncclInvalidArgument;\n"
        "  return {}_bytes(call.site(), (const {}*){}, ({}*){}, count * size_of(type), {}stream);\n"
        "}}\n",
        call.own, one_buffer ? "void* data" : "const void* from, void* to",
        rooted ? " int root," : "", sent_by_kernels, name, emit::cuda_type(Element::Uint8),
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
    const bool shoots = *call.collective == Collective::AllReduce;
    const bool two_ways = shoots && !design_.shots;
    const emit::Shots only = shoots ? design_.shots.value_or(emit::Shots::One) : emit::Shots::One;
    std::vector<std::string> kernels;
    for (const emit::Shots shots : {emit::Shots::One, emit::Shots::Two}) {
      if (!two_ways && shots != only) continue;
      emit::Request request = request_of(*call.collective, name);
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
  const OwnDesign& design_;
  Caller caller_;
  std::string text_;
  std::set<std::string> written_;
};

}  // namespace

std::string with_own_names(std::string_view text) {
  Edits edits(text);
  for (const program::Identifier& name : program::identifiers(text)) {
    if (const DropIn* call = drop_in_for(name.name))
      edits.replace(name.begin, name.begin + name.name.size(), fmt::format("cuco::{}", call->own));
  }
  return edits.apply();
}

Result<std::string> collectives_header(const Uses& uses,
                                       const OwnDesign& design,
                                       Caller caller,
                                       const Additions* additions) {
  Uses all = uses;
  // What is planned is messages.
  if (design.forwards)
    all.functions.insert({"ncclSend", "ncclRecv", "ncclGroupStart", "ncclGroupEnd"});
  CUCO_TRY_ASSIGN(std::string text, Header(all, design, caller).text());
  if (additions != nullptr && !additions->header.empty())
    text += "\n" + with_own_names(additions->header);
  return with_short_lines(text);
}

}  // namespace cuco::expert

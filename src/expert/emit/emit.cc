// SPDX-License-Identifier: Apache-2.0
#include "expert/emit/emit.h"

#include <fmt/format.h>

#include "base/text.h"
#include "expert/edit.h"
#include "expert/emit/names.h"
#include "expert/emit/preconditions.h"

namespace cuco::expert::emit {
namespace {
using design::Backend;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// The template of a kernel, and which of its buffers peers reach directly.
struct Kernel {
  std::string text;
  bool send_is_shared = false;
  bool recv_is_shared = false;
};

std::string file_name(Collective collective) {
  std::string result(name(collective));
  for (char& c : result)
    c = c == '-' ? '_' : c;
  return result;
}

/// What the switch can reduce: see Switch in the device header.
bool switch_reduces(Element element, Reduction reduction) {
  if (reduction == Reduction::Prod) return false;
  const bool adds = reduction == Reduction::Sum || reduction == Reduction::Avg;
  switch (element) {
    case Element::Float:
    case Element::Double:
      return adds;
    case Element::Half:
    case Element::Bfloat16:
    case Element::Int32:
    case Element::Uint32:
      return true;
    default:
      return false;
  }
}

Result<Kernel> kernel_through_boxes(const Request& request) {
  std::string file = file_name(request.collective);
  if (request.collective == Collective::AllReduce) {
    file += request.shots == Shots::One ? "_one_shot" : "_two_shot";
  }
  if (request.backend == Backend::Multimem && reduces(request.collective)) file += "_multimem";
  return Kernel{file, false, false};
}

Result<Kernel> kernel_on_windows(const Request& request) {
  const bool gin = request.backend == Backend::Gin;
  if (!request.expressions.devices.empty()) {
    return no("one thread drives several GPUs, and would wait for itself when it allocates");
  }
  if (request.backend == Backend::Hybrid) return no("hybrid designs go through boxes");
  switch (request.collective) {
    case Collective::AllGather:
      return gin ? Kernel{"all_gather_windows_gin", true, true}
                 : Kernel{"all_gather_windows", false, true};
    case Collective::AllToAll:
      if (request.in_place) return no("peers would overwrite what is still to be sent");
      return gin ? Kernel{"all_to_all_windows_gin", true, true}
                 : Kernel{"all_to_all_windows", false, true};
    case Collective::Broadcast:
      return gin ? Kernel{"broadcast_windows_gin", true, true}
                 : Kernel{"broadcast_windows", false, true};
    case Collective::Exchange:
      return no("messages go through boxes: peers' buffers are not known here");
    default:
      break;
  }
  if (gin) return no("the network card does not reduce: reductions go through boxes");
  switch (request.collective) {
    case Collective::AllReduce:
      if (request.shots == Shots::Two) return Kernel{"all_reduce_two_shot_windows", true, true};
      if (request.in_place) return no("peers still read what one rank would overwrite");
      return Kernel{"all_reduce_one_shot_windows", true, false};
    case Collective::ReduceScatter:
      return Kernel{"reduce_scatter_windows", true, false};
    default:
      return Kernel{"reduce_windows", true, false};
  }
}

Result<Kernel> kernel_of(const Request& request) {
  const auto collective = request.collective;
  if (request.backend == Backend::Host) return no("the host's collective is no emitted code");
  if (request.box_bytes == 0 || request.box_bytes % 16 != 0) {
    return no("a box is a multiple of 16 bytes");
  }
  if (request.blocks < 1) return no("a call needs a block");
  if (request.threads < 32 || request.threads > 1024 || request.threads % 32 != 0) {
    return no("a block has whole warps, and at most 1024 threads");
  }
  if (request.backend == Backend::Multimem) {
    if (collective == Collective::AllToAll || collective == Collective::Exchange) {
      return no("each peer gets other data: there is nothing to multicast");
    }
    if (reduces(collective) && !switch_reduces(request.element, request.reduction)) {
      return no(fmt::format("the switch has no {} of {}", name(request.reduction),
                            name(request.element)));
    }
  }
  return request.buffers == Buffers::Staged ? kernel_through_boxes(request)
                                            : kernel_on_windows(request);
}

/// The launching function's parameters, the kernel's arguments, and those of the call.
struct Signature {
  std::vector<std::string> parameters, arguments, call;
};

Signature signature_of(const Request& request, const Kernel& kernel) {
  const auto type = cuda_type(request.element);
  const auto& e = request.expressions;
  Signature result;
  const auto add = [&](std::string parameter, std::string argument, std::string value) {
    result.parameters.push_back(std::move(parameter));
    if (!argument.empty()) result.arguments.push_back(std::move(argument));
    result.call.push_back(std::move(value));
  };
  // In place both are in one window, that of the result.
  const bool one_window = request.in_place && kernel.send_is_shared && kernel.recv_is_shared;
  const auto add_buffer = [&](const char* which, bool shared, std::string_view declared,
                              const std::string& value) {
    if (shared) {
      add(fmt::format("const cuco::Window& {}_window", which), "",
          beside(e.site, one_window ? "recv" : which));
      add(fmt::format("{} {}", declared, which),
          fmt::format("cuco::place_of({0}_window, {0})", which), value);
    } else {
      add(fmt::format("{} {}", declared, which), which, value);
    }
  };
  add_buffer("send", kernel.send_is_shared, fmt::format("const {}*", type), e.send);
  add_buffer("recv", kernel.recv_is_shared, fmt::format("{}*", type), e.recv);
  add("size_t count", "count", e.count);
  if (has_root(request.collective)) add("int root", "root", e.root);
  return result;
}

std::string bytes_to_a_peer(const Request& request) {
  const auto all = fmt::format("count * sizeof({})", cuda_type(request.element));
  const bool slices = request.collective == Collective::AllReduce && request.shots == Shots::Two;
  return slices ? all + " / site.comm.nRanks" : all;
}

void add_collective(const Request& request, const Kernel& kernel, Values values, Emitted& emitted) {
  const auto signature = signature_of(request, kernel);
  const auto& e = request.expressions;
  values["parameters"] = join(signature.parameters, ", ");
  values["arguments"] = join(signature.arguments, ", ");
  values["bytes"] = bytes_to_a_peer(request);
  emitted.code += "\n" + filled("launch.cu", values);
  emitted.call =
      fmt::format("{}({}, {}, {})", request.name, e.site, join(signature.call, ", "), e.stream);
  const bool one_window = request.in_place && kernel.recv_is_shared;
  if (kernel.send_is_shared && !one_window)
    emitted.buffers.push_back(shared_buffer(e, e.send, "send"));
  if (kernel.recv_is_shared) emitted.buffers.push_back(shared_buffer(e, e.recv, "recv"));
}

void add_group(const Request& request, const Values& values, Emitted& emitted) {
  const auto& e = request.expressions;
  const auto group = beside(e.site, "group");
  emitted.code += "\n" + filled("exchange_launch.cu", values);
  emitted.call = fmt::format("{}({}, {}, {})", request.name, e.site, group, e.stream);
  emitted.group = {
      .member = fmt::format("cuco::Group<{}> {};", cuda_type(request.element), last_name(group)),
      .send = group + ".send({data}, {count}, {peer})",
      .receive = group + ".receive({data}, {count}, {peer})"};
}

}  // namespace

std::string_view device_header() {
  return header(kDeviceHeaderName);
}

Result<Emitted> emit(const Request& request) {
  CUCO_TRY_ASSIGN(const Kernel kernel, kernel_of(request));
  const auto& e = request.expressions;
  const Values values{{"name", request.name},
                      {"type", std::string(cuda_type(request.element))},
                      {"reduction", std::string(name(request.reduction))},
                      {"path", path_of(request.backend)},
                      {"threads", std::to_string(request.threads)}};
  Emitted emitted;
  emitted.include = fmt::format("#include \"{}\"", kDeviceHeaderName);
  emitted.code = filled(kernel.text + ".cu", values);
  emitted.member = fmt::format("cuco::Site {};", last_name(e.site));
  const auto path = path_of(request.backend);
  const bool several = !e.devices.empty();
  const auto devices = several ? e.devices : "1";
  const auto sites = several ? e.sites : "&" + e.site;
  emitted.setup =
      fmt::format("cuco::open<{}>({}, {}, {{{}, {}}}, {})", path, several ? e.comms : "&" + e.comm,
                  devices, request.blocks, request.box_bytes, sites);
  emitted.teardown = fmt::format("cuco::close<{}>({}, {})", path, sites, devices);
  if (request.collective == Collective::Exchange) {
    add_group(request, values, emitted);
  } else {
    add_collective(request, kernel, values, emitted);
  }
  emitted.code = with_short_lines(emitted.code);
  emitted.preconditions = preconditions_of(request, emitted.buffers);
  return emitted;
}

}  // namespace cuco::expert::emit

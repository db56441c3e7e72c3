// SPDX-License-Identifier: Apache-2.0
#include "expert/gather_site.h"

#include <algorithm>
#include <array>
#include <regex>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::expert {
namespace {
using analysis::Function;
using analysis::Syntax;

/// Why a design does not apply: shown by `cuco optimize --verbose`, not a failure of the run.
Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

std::string_view name_of(const Syntax& syntax, int variable) {
  return syntax.variables[static_cast<std::size_t>(variable)].name;
}

/// "shape.bf16 ? ncclBfloat16 : ncclFloat32" becomes "shape.bf16 ? 2 : 4".
std::string size_expression(std::string type) {
  // Longer names first: "ncclInt" is a prefix of "ncclInt32".
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kSizes{{
      {"ncclBfloat16", "2"},
      {"ncclFloat16", "2"},
      {"ncclFloat32", "4"},
      {"ncclFloat64", "8"},
      {"ncclUint32", "4"},
      {"ncclInt32", "4"},
      {"ncclUint64", "8"},
      {"ncclInt64", "8"},
      {"ncclUint8", "1"},
      {"ncclInt8", "1"},
      {"ncclDouble", "8"},
      {"ncclFloat", "4"},
      {"ncclHalf", "2"},
      {"ncclInt", "4"},
  }};
  for (const auto& [name, size] : kSizes) {
    for (auto at = type.find(name); at != std::string::npos; at = type.find(name)) {
      type.replace(at, name.size(), size);
    }
  }
  // A name that is left has a size we do not know.
  if (type.find("nccl") != std::string::npos) return {};
  return type.find(' ') == std::string::npos ? type : "(" + type + ")";
}

/// Without a cast where the variable is a char pointer already.
std::string as_bytes(const Syntax& syntax,
                     const Function& function,
                     const std::string& expression) {
  for (const int id : analysis::variables_in(function)) {
    const auto& variable = syntax.variables[static_cast<std::size_t>(id)];
    const bool bytes = variable.type == "char *" || variable.type == "const char *";
    if (variable.name == expression && bytes) return expression;
  }
  return "(const char*)(" + expression + ")";
}

/// "const float* __restrict__" becomes "float": the element type that a template stores.
std::string without_qualifiers(std::string type) {
  for (const std::string_view word : {"__restrict", "const ", "*"}) {
    for (auto at = type.find(word); at != std::string::npos; at = type.find(word)) {
      type.erase(at, word.size());
    }
  }
  return std::string(trim(type));
}

/// A kernel that writes the gathered buffer, with what the templates need to rewrite it: one
/// launch, its output parameter, a plain signature and, if the text shows it, which rows a block
/// computes.
Result<Producer> describe_producer(const analysis::CommunicationGraph& graph,
                                   int index,
                                   const analysis::Collective& collective,
                                   std::string_view text) {
  Producer producer;
  producer.kernel = &graph.kernels[static_cast<std::size_t>(index)];
  const auto& kernel = *producer.kernel;
  producer.name = kernel.name;
  for (const auto& launch : graph.launches) {
    if (launch.kernel != index) continue;
    if (producer.launch != nullptr && !(producer.launch->span == launch.span)) {
      return no(kernel.name + " is launched in more than one place");
    }
    producer.launch = &launch;
  }
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const auto& parameter = kernel.parameters[i];
    const auto& sent = collective.send_buffers;
    if (parameter.written && std::ranges::find(sent, parameter.buffer) != sent.end()) {
      producer.output = i;
      producer.element = without_qualifiers(parameter.type);
    }
  }
  const auto head = text.substr(kernel.span.begin, kernel.body.begin - kernel.span.begin);
  const std::string head_text(head);
  std::smatch match;
  // The rewrite replaces the text up to the parameters, so it has to know all of it.
  const std::regex signature("^__global__\\s+void\\s*((?:__launch_bounds__\\s*\\([^)]*\\))?)\\s*" +
                             kernel.name + "\\s*\\(");
  if (!std::regex_search(head_text, match, signature)) {
    return no("the signature of " + kernel.name + " is not '__global__ void NAME(...)'");
  }
  if (match[1].length() > 0) producer.attributes = " " + match[1].str();
  producer.name_begin = kernel.span.begin + head_text.find(kernel.name, 0);
  const std::string body(text.substr(kernel.body.begin, kernel.body.end - kernel.body.begin));
  if (std::regex_search(body, match, std::regex("blockIdx\\.y \\* (\\w+)"))) {
    producer.tile_rows = match[1].str();
  }
  return producer;
}

/// From `dim3 grid(…, (ROWS + TILE - 1) / TILE)` in the launcher.
void read_grid(GatherSite& site) {
  const auto& grid = site.producers.front().launch->configuration.grid;
  const auto& syntax = site.graph->syntax;
  for (const int id : analysis::variables_in(*site.launcher)) {
    const auto& variable = syntax.variables[static_cast<std::size_t>(id)];
    if (variable.name != grid) continue;
    const std::string declaration(
        site.text.substr(variable.span.begin, variable.span.end - variable.span.begin));
    std::smatch match;
    const std::regex rows(",\\s*\\((.+) \\+ (\\w+) - 1\\) / (\\w+)\\)$");
    if (std::regex_search(declaration, match, rows) && match[2] == match[3]) {
      site.grid = grid;
      site.launcher_rows = match[1].str();
      site.tile = match[2].str();
    }
  }
  // ROWS may speak of the launcher's parameter: say it in the caller's terms.
  const auto dot = site.launcher_rows.find('.');
  const auto subject = site.launcher_rows.substr(0, dot);
  const auto& parameters = site.launcher->parameters;
  const auto& arguments = site.launcher_call.call->operands;
  for (std::size_t i = 0; i < parameters.size() && i < arguments.size(); ++i) {
    if (name_of(syntax, parameters[i]) == subject && !subject.empty()) {
      site.rows =
          arguments[i].text + (dot == std::string::npos ? "" : site.launcher_rows.substr(dot));
    }
  }
}

/// The producers get the gather as an argument, so there must be one chain of calls to pass it
/// through.
Result<void> find_launcher(GatherSite& site) {
  const auto& name = site.producers.front().launch->function;
  for (const auto& producer : site.producers) {
    if (producer.launch->function != name) return no("the producers are launched in two functions");
  }
  site.launcher = analysis::find_function(site.graph->syntax, name);
  for (const auto& call : analysis::calls_in(*site.home.run)) {
    if (call.call->name == name) site.launcher_call = call;
  }
  if (site.launcher == nullptr || site.launcher_call.call == nullptr) {
    return no("the producers are not launched by a function that is called beside the collective");
  }
  return {};
}

}  // namespace

Result<GatherSite> find_gather_site(const analysis::CommunicationGraph& graph,
                                    std::string_view text) {
  if (graph.collectives.size() != 1 || graph.collectives[0].name != "ncclAllGather") {
    return no("the designs need a program with exactly one collective, an ncclAllGather");
  }
  GatherSite site;
  site.text = text;
  site.graph = &graph;
  site.collective = graph.collectives.data();
  const auto& collective = *site.collective;
  if (!collective.in_place) return no("the all-gather is not in place");
  const auto size = size_expression(collective.type);
  if (size.empty()) return no("the element type '" + collective.type + "' is not supported");
  CUCO_TRY_ASSIGN(site.home, find_state_home(graph));
  if (site.home.run->name != collective.function) {
    return no("the collective is not in the function that cuco_run calls");
  }
  for (const int index : collective.producers) {
    CUCO_TRY_ASSIGN(Producer producer, describe_producer(graph, index, collective, text));
    if (producer.launch == nullptr) return no(producer.name + " is never launched");
    site.producers.push_back(std::move(producer));
  }
  if (site.producers.empty()) return no("no kernel writes the buffer that is gathered");
  CUCO_TRY(find_launcher(site));
  site.offset = as_bytes(graph.syntax, *site.home.run, collective.send) + " - " +
                as_bytes(graph.syntax, *site.home.run, collective.receive);
  site.bytes = collective.count + " * " + size;
  read_grid(site);
  return site;
}

}  // namespace cuco::expert

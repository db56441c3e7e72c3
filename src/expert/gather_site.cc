// SPDX-License-Identifier: Apache-2.0
#include "expert/gather_site.h"

#include <algorithm>
#include <array>
#include <regex>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::expert {
namespace {
using analysis::Call;
using analysis::Function;

/// Why a design does not apply: shown by `cuco optimize --verbose`, not a failure of the run.
Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

const Function* find(const std::vector<Function>& functions, std::string_view name) {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [&](const Function& each) { return each.name == name; });
  return found == functions.end() ? nullptr : &*found;
}

/// The function that does an entry point's work: the entry points only convert their arguments.
const Function* behind(const std::vector<Function>& functions, std::string_view entry) {
  const auto* function = find(functions, entry);
  if (function == nullptr) return nullptr;
  for (const auto& call : function->calls) {
    if (const auto* target = find(functions, call.callee)) return target;
  }
  return nullptr;
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
std::string as_bytes(const Function& function, const std::string& expression) {
  for (const auto& variable : function.variables) {
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
    if (producer.launch != nullptr) return no(kernel.name + " is launched in more than one place");
    producer.launch = &launch;
  }
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const auto& parameter = kernel.parameters[i];
    if (parameter.written && parameter.buffer == collective.send_buffer) {
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
  for (const auto& variable : site.launcher->variables) {
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
  for (std::size_t i = 0; i < parameters.size() && i < site.launcher_call->arguments.size(); ++i) {
    if (parameters[i].name == subject && !subject.empty()) {
      site.rows = site.launcher_call->arguments[i].text +
                  (dot == std::string::npos ? "" : site.launcher_rows.substr(dot));
    }
  }
}

/// Resources live in State, from set-up to teardown; run() holds the collective.
Result<void> find_entry_points(GatherSite& site) {
  const auto& functions = site.graph->functions;
  site.setup = behind(functions, "cuco_setup");
  site.run = behind(functions, "cuco_run");
  site.teardown = behind(functions, "cuco_teardown");
  if (site.setup == nullptr || site.run == nullptr || site.teardown == nullptr) {
    return no("the entry points do not call functions of the program");
  }
  if (site.setup->returns.empty()) return no("the set-up function has no return statement");
  if (site.run->name != site.collective->function) {
    return no("the collective is not in the function that cuco_run calls");
  }
  for (const auto& record : site.graph->records) {
    const bool has_context =
        std::find(record.fields.begin(), record.fields.end(), "context") != record.fields.end();
    if (record.name == "State" && has_context) site.state = &record;
  }
  if (site.state == nullptr) return no("there is no struct State with a context");
  return {};
}

/// The producers get the gather as an argument, so there must be one chain of calls to pass it
/// through.
Result<void> find_launcher(GatherSite& site) {
  const auto& name = site.producers.front().launch->function;
  for (const auto& producer : site.producers) {
    if (producer.launch->function != name) return no("the producers are launched in two functions");
  }
  site.launcher = find(site.graph->functions, name);
  for (const auto& call : site.run->calls) {
    if (call.callee == name) site.launcher_call = &call;
  }
  if (site.launcher == nullptr || site.launcher_call == nullptr) {
    return no("the producers are not launched by a function that run() calls");
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
  CUCO_TRY(find_entry_points(site));
  for (const int index : collective.producers) {
    CUCO_TRY_ASSIGN(Producer producer, describe_producer(graph, index, collective, text));
    if (producer.launch == nullptr) return no(producer.name + " is never launched");
    site.producers.push_back(std::move(producer));
  }
  if (site.producers.empty()) return no("no kernel writes the buffer that is gathered");
  CUCO_TRY(find_launcher(site));
  site.offset =
      as_bytes(*site.run, collective.send) + " - " + as_bytes(*site.run, collective.receive);
  site.bytes = collective.count + " * " + size;
  read_grid(site);
  return site;
}

}  // namespace cuco::expert

// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/split/split_proposal.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/programs/split/split_plan.h"
#include "cli/programs/split/split_sizes.h"
#include "program/tokens.h"

namespace cuco::cli {
namespace {

using analysis::CommunicationGraph;
using analysis::Operation;
using analysis::OperationKind;

std::string text_of(Role role) {
  switch (role) {
    case Role::Input:
      return "input: copied from the host";
    case Role::Output:
      return "output: copied to the host";
    case Role::InputAndOutput:
      return "both: copied from and to the host";
    case Role::Scratch:
      break;
  }
  return "scratch: never seen by the host";
}

/// As workload.toml calls it; empty: another one.
std::string type_named_in(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, const char*>, 3> kTypes = {
      {{"bfloat16", "bf16"}, {"float", "fp32"}, {"int", "int32"}}};
  for (const auto& [word, type] : kTypes) {
    const std::size_t at = text.find(word);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = text.substr(at + word.size());  // "int32_t", but not "int8_t"
    const bool has_bits = !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
    return has_bits && !rest.starts_with("32") ? "" : type;
  }
  return {};
}

/// By a kernel that gets the buffer, or by the sizeof in its size.
std::string type_of(const CommunicationGraph& graph, int buffer) {
  for (const auto& kernel : graph.kernels) {
    for (const auto& parameter : kernel.parameters) {
      if (parameter.buffer != buffer) continue;
      if (auto type = type_named_in(parameter.type); !type.empty()) return type;
    }
  }
  const std::string_view bytes = graph.buffers[static_cast<std::size_t>(buffer)].bytes;
  const std::size_t size = bytes.find("sizeof");
  return size == std::string_view::npos ? std::string() : type_named_in(bytes.substr(size));
}

/// A name as a workload may have it: "mlp_up" of "mlp.up".
std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool is_arrow = c == '>' && name.ends_with('-');
    if (is_arrow) name.pop_back();
    name += is_arrow || c == '.' ? '_' : c;
  }
  return name;
}

/// A container's size gets a name; a variable that holds bytes is divided.
std::string elements_of(const CommunicationGraph& graph, int buffer) {
  std::string bytes = graph.buffers[static_cast<std::size_t>(buffer)].bytes;
  constexpr std::string_view kSize = ".size()";
  for (std::size_t at = bytes.find(kSize); at != std::string::npos; at = bytes.find(kSize))
    bytes.replace(at, kSize.size(), "_size");
  std::string elements = plain_name(without_sizeof(bytes));
  const std::string type = type_of(graph, buffer);
  const bool is_simple = elements.find_first_of(" +-*/") == std::string::npos;
  if (type.empty() || bytes.find("sizeof") != std::string::npos) return elements;
  return fmt::format("{} / {}", is_simple ? elements : "(" + elements + ")",
                     type == "bf16" ? 2 : 4);
}

/// Names in the sizes: what a shape would set.
std::vector<std::string> parameters_of(const CommunicationGraph& graph) {
  constexpr std::array<std::string_view, 4> kNone = {"size_t", "int", "long", "unsigned"};
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(graph.buffers.size()); ++i) {
    const std::string elements = elements_of(graph, i);
    for (const auto& found : program::identifiers(elements)) {
      const std::string name(found.name);
      if (std::ranges::find(kNone, name) == kNone.end() &&
          std::ranges::find(names, name) == names.end())
        names.push_back(name);
    }
  }
  return names;
}

/// The lines of the repeated work: from the first kernel or collective to the last.
std::pair<int, int> run_lines(const CommunicationGraph& graph) {
  std::pair<int, int> lines{0, 0};
  for (const Operation& operation : graph.operations) {
    if (operation.kind != OperationKind::Launch && operation.kind != OperationKind::Communicate)
      continue;
    if (lines.first == 0 || operation.span.line < lines.first) lines.first = operation.span.line;
    lines.second = std::max(lines.second, operation.span.line);
  }
  return lines;
}

std::string buffer_table(const CommunicationGraph& graph) {
  std::string text =
      "| buffer | bytes as allocated | type | proposed |\n| --- | --- | --- | --- |\n";
  for (int i = 0; i < static_cast<int>(graph.buffers.size()); ++i) {
    const auto& buffer = graph.buffers[static_cast<std::size_t>(i)];
    const std::string type = type_of(graph, i);
    text += fmt::format("| `{}` | `{}` | {} | {}{} |\n", buffer.name, buffer.bytes,
                        type.empty() ? "?" : type, text_of(role_of(graph, i)),
                        buffer.communicated ? "; communicated" : "");
  }
  return text;
}

std::string draft(const CommunicationGraph& graph, const SplitSubject& subject) {
  std::string text = fmt::format(
      "name = \"{}\"\nsummary = \"\"  # one line\nranks = {}\ntopology = \"{}\"\nparams = [{}]\n",
      subject.name, subject.ranks, subject.topology, [&] {
        std::string list;
        for (const std::string& name : parameters_of(graph))
          list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
        return list;
      }());
  for (int i = 0; i < static_cast<int>(graph.buffers.size()); ++i) {
    const Role role = role_of(graph, i);
    if (role == Role::Scratch) continue;
    const auto& buffer = graph.buffers[static_cast<std::size_t>(i)];
    const std::string type = type_of(graph, i);
    for (const char* kind : {"input", "output"}) {
      if (role == (kind[0] == 'i' ? Role::Output : Role::Input)) continue;
      text +=
          fmt::format("\n[[{}]]\nname = \"{}\"\nelements = \"{}\"\ntype = \"{}\"\n", kind,
                      plain_name(buffer.name), elements_of(graph, i), type.empty() ? "?" : type);
    }
  }
  return text;
}

}  // namespace

std::string split_proposal(const CommunicationGraph& graph, const SplitSubject& subject) {
  const auto [first, last] = run_lines(graph);
  std::string parameters;
  for (const std::string& name : parameters_of(graph))
    parameters += fmt::format("- `{}`\n", name);
  std::string text = fmt::format(
      "# How {0} could be split\n\n"
      "Proposed by `cuco init`, from the program's text; check every line. As it is, this folder "
      "is\n"
      "judged as a whole: candidates must copy the same data back as `program.cu` itself "
      "computes.\n"
      "Split, it gets fresh inputs, hidden shapes, a bound and a score.\n\n"
      "## Parameters\n\nNames in the buffers' sizes, which shapes would set:\n\n{1}\n"
      "## Buffers of one rank\n\n{2}\n",
      subject.program, parameters.empty() ? "- none found\n" : parameters, buffer_table(graph));
  text += fmt::format(
      "## Entry points\n\n"
      "| function | what goes there |\n| --- | --- |\n"
      "| `cuco_setup` | scratch buffers, streams, events; communicator, inputs and outputs are "
      "given |\n"
      "| `cuco_run` | lines {} to {}: the kernels and collectives of one iteration, on its stream "
      "|\n"
      "| `cuco_teardown` | what set-up has made |\n\n"
      "`MPI`, `ncclCommInit…`, copies to and from the host and all printing stay out.\n\n"
      "## workload.toml\n\nA draft; ranges, shapes, tolerance and bound are missing. An example of "
      "all:\n"
      "`cuco init example`.\n\n```toml\n{}```\n\n",
      first, last, draft(graph, subject));
  return text +
         "## Oracle\n\n"
         "`oracle.cpp` computes every output in double precision from the inputs of all ranks: "
         "what\n"
         "lines above do, without the GPU. Until it is written, the program's own computation is "
         "the\n"
         "oracle, and this folder uses it.\n\n"
         "## Check\n\n"
         "- Is each parameter really free, and are the sizes right for all its values?\n"
         "- Are the inputs all that the outputs depend on? Constants that kernels read are inputs, "
         "too.\n"
         "- Does one iteration read what another one wrote? Then that buffer is input and output.\n"
         "- Does `cuco check` accept the folder, and reject an output of zeros?\n";
}

}  // namespace cuco::cli

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "cli/programs/split/split_lines.h"
#include "cli/programs/split/split_text.h"

namespace cuco::cli {

using analysis::Span;

std::string split_oracle(const SplitPlan& plan,
                         std::string_view text,
                         const SplitSubject& subject) {
  std::string made = fmt::format(
      "// What {} must compute: the text of {} itself, run on the host in double precision. If "
      "that\n"
      "// is wrong, so is this. Trusted: no candidate can reach this process.\n"
      "#include <cmath>\n#include <cstdlib>\n",
      subject.name, subject.program);
  for (const Span& span : plan.includes) {
    const std::string one = edited(text, span, {});
    const bool is_device = one.find("cuda") != std::string::npos ||
                           one.find("nccl") != std::string::npos ||
                           one.find("cooperative") != std::string::npos;
    if (!is_device) made += one;
  }
  made += "\n#include \"cuco/oracle_device.h\"\n\nnamespace program {\n\n" + shim(text);
  // Dynamic shared memory has a size here: the most that a block can have.
  made +=
      replaced(replaced(outside_of(plan, text, plan.on_host), "extern __shared__", "__shared__"),
               "[];", "[58368];");
  made +=
      "\nvoid one_rank(const cuco_shape& shape, int cuco_rank, const std::vector<float*>& "
      "cuco_in,\n"
      "              const std::vector<float*>& cuco_out) {\n";
  made += given_lines(plan, "cuco_rank", "shape.ranks", "nullptr", "shape.params");
  if (!plan.stream.empty())
    made += line(fmt::format("[[maybe_unused]] cudaStream_t {} = nullptr;", plan.stream));
  for (const SplitHandle& handle : plan.handles)
    made += line(fmt::format("[[maybe_unused]] {} {} = nullptr;", handle.type, handle.name));
  int inputs = 0;
  int outputs = 0;
  for (const SplitBuffer& buffer : plan.buffers) {
    if (buffer.role == Role::Scratch) {
      made +=
          line(fmt::format("std::vector<unsigned char> cuco_{}({});", buffer.name, buffer.bytes));
      made += line(
          fmt::format("[[maybe_unused]] {0}{1} = ({0})cuco_{1}.data();", buffer.type, buffer.name));
      continue;
    }
    made += line(fmt::format("{}{} = {}[{}];", buffer.type, buffer.name,
                             is_output(buffer) ? "cuco_out" : "cuco_in",
                             is_output(buffer) ? outputs : inputs));
    if (buffer.role == Role::InputAndOutput)
      made +=
          line(fmt::format("std::memcpy({}, cuco_in[{}], {});", buffer.name, inputs, buffer.bytes));
    inputs += is_input(buffer) ? 1 : 0;
    outputs += is_output(buffer) ? 1 : 0;
  }
  for (const std::string& pointer : plan.pointers)
    made += line(pointer);
  std::vector<SplitEdit> edits = plan.left_out;
  edits.insert(edits.end(), plan.on_host.begin(), plan.on_host.end());
  const auto replaced_stream = [](std::string statement) {
    return replaced(std::move(statement), ", cuco_stream", "");
  };
  for (const auto* list : {&plan.fills, &plan.run}) {
    for (const Span& span : *list)
      made += line(replaced_stream(edited(text, span, edits)));
  }
  made += "}\n\n}  // namespace program\n\n";
  std::string params, in, out;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i)
    params += line(fmt::format("[[maybe_unused]] const auto {} = (size_t)shape->params[{}];",
                               plan.parameters[i].name, i));
  for (const SplitBuffer& buffer : plan.buffers) {
    const std::string size = fmt::format("(size_t)({})", buffer.elements);
    if (is_input(buffer)) in += (in.empty() ? "" : ", ") + size;
    if (is_output(buffer)) out += (out.empty() ? "" : ", ") + size;
  }
  made +=
      "using namespace cuco_oracle;\n\n"
      "extern \"C\" void cuco_oracle_input(\n"
      "    const cuco_shape*, uint64_t key, int rank, int input, void* bytes, size_t n_bytes) {\n"
      "  // Its own stream for each rank and input: no rank can compute its peers' answers "
      "itself.\n"
      "  const auto owner = (std::uint64_t)rank * 64 + (std::uint64_t)input;\n"
      "  fill(bytes, n_bytes, false, stream(key, owner), 1.0F, style(key, (std::uint64_t)input, "
      "-2, 0));\n"
      "}\n\n"
      "extern \"C\" void cuco_oracle_reference(const cuco_shape* shape, const void* const* "
      "inputs,\n"
      "                                      int, int rank, int output, size_t first, size_t "
      "count,\n"
      "                                      double* want, double* scale) {\n"
      "  [[maybe_unused]] const auto ranks = (size_t)shape->ranks;\n";
  made += params + "  static Answers answers;\n";
  made += fmt::format(
      "  const auto& all = answers.of(*shape, inputs, {{{}}}, {{{}}},\n"
      "      [&](int one, const auto& in, const auto& out) {{ program::one_rank(*shape, one, in, "
      "out); }},\n"
      "      rank, output);\n"
      "  for (size_t i = 0; i < count; ++i) {{\n"
      "    want[i] = all[first + i].value;\n    scale[i] = all[first + i].scale;\n  }}\n}}\n",
      in, out);
  return made;
}

}  // namespace cuco::cli

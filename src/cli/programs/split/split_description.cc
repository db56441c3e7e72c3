// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/programs/split/split_text.h"

namespace cuco::cli {

std::string split_description(const SplitPlan& plan, const SplitSubject& subject) {
  std::string names, values, ranges, all;
  for (const SplitParameter& parameter : plan.parameters) {
    const char* comma = names.empty() ? "" : ", ";
    names += fmt::format("{}\"{}\"", comma, parameter.name);
    values += fmt::format("{}{} = {}", comma, parameter.name, parameter.value);
    const long long value = parameter.value;
    ranges += value % 4 == 0 && value >= 64
                  ? fmt::format("{} = [{}, {}, {}]\n", parameter.name, value / 4, value / 2, value)
                  : fmt::format("{} = [{}]\n", parameter.name, value);
  }
  std::string text = fmt::format(
      "# {0}, split by `cuco init` from {1}. Try it: cuco check FOLDER. What to look at by hand "
      "is\n"
      "# in README.md.\nname = \"{0}\"\nsummary = \"{1}, one iteration\"\nranks = {2}\n"
      "topology = \"{3}\"\nparams = [{4}]\n",
      subject.name, subject.program, subject.ranks, subject.topology, names);
  for (const bool inputs : {true, false}) {
    for (const SplitBuffer& buffer : plan.buffers) {
      if (!(inputs ? is_input(buffer) : is_output(buffer))) continue;
      const bool both = buffer.role == Role::InputAndOutput;
      text += fmt::format("\n[[{}]]\nname = \"{}{}\"\nelements = \"{}\"\ntype = \"fp32\"\n",
                          inputs ? "input" : "output", buffer.name, both && inputs ? "_in" : "",
                          buffer.elements);
      const std::string part = fmt::format("{}({})", all.empty() ? "" : " + ", buffer.elements);
      all += part;
    }
  }
  text +=
      "\n# relative: of the answer; scaled: of what was added up to get it, in any order. Fast\n"
      "# approximations (__expf) may need more.\n[tolerance]\n"
      "fp32 = { relative = 2e-6, scaled = 1.2e-7 }\n";
  if (plan.parameters.empty()) {
    text += "\n# The sizes are constants of the program, so all shapes are the same one.\n";
    for (const char* use : {"check", "hidden", "time"})
      text += fmt::format("[[shape]]\nname = \"{0}\"\nuse = [\"{0}\"]\nparams = {{}}\n\n", use);
  } else {
    text += fmt::format(
        "\n# What the program must handle: as few values as are sure. Widen it.\n[range]\n{}\n"
        "[[shape]]\nname = \"as it is\"\nuse = [\"time\"]\nparams = {{ {} }}\n\n",
        ranges, values);
  }
  return text + fmt::format(
                    "# The least that any version must do: read its inputs, write its outputs.\n"
                    "[bound]\nflops = \"1\"\nflops_type = \"fp32\"\nhbm_bytes = \"4 * ({})\"\n"
                    "wire_bytes = \"0\"\n\n[budget]\nsetup_seconds = 30\nrun_seconds = 30\n",
                    all);
}

std::string split_readme(const SplitPlan& plan, const SplitSubject& subject) {
  std::string outputs;
  for (const SplitBuffer& buffer : plan.buffers) {
    if (is_output(buffer))
      outputs += fmt::format("{}`{}`", outputs.empty() ? "" : ", ", buffer.name);
  }
  return fmt::format(
      "# {0}\n\nOne iteration of `{1}`, split by `cuco init`: inputs are what it copies to the "
      "devices,\n"
      "outputs what it copies back ({2}). The oracle is the program's own computation, run on the "
      "host\n"
      "in double precision; inputs are random numbers in place of the program's.\n\n"
      "To look at by hand:\n\n"
      "- Do random inputs make sense? `cuco_oracle_input` in `oracle.cpp` makes them.\n"
      "- Is everything that should be free a parameter in `workload.toml`, and how far does it "
      "go?\n"
      "- Does an iteration need what an earlier one left? Then that is input and output.\n"
      "- The bound counts inputs and outputs only; a tighter one makes scores mean more.\n"
      "- `cuco check` tells whether the oracle rejects wrong answers and the seed passes.\n",
      subject.name, subject.program, outputs);
}

}  // namespace cuco::cli

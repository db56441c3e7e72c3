// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/split/split_lines.h"

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::cli {

using analysis::Span;

std::string line(std::string_view statement, int depth) {
  return fmt::format("{:{}}{}\n", "", 2 * depth, trim(statement));
}

std::string shim(std::string_view text) {
  if (text.find("MPI_Abort") == std::string_view::npos) return {};
  return "// There is no MPI here: who gives up, ends.\n"
         "#define MPI_COMM_WORLD 0\n"
         "#define MPI_Abort(communicator, code) abort()\n\n";
}

std::string replaced(std::string text, std::string_view old, std::string_view by) {
  for (std::size_t at = text.find(old); at != std::string::npos;
       at = text.find(old, at + by.size()))
    text.replace(at, old.size(), by);
  return text;
}

std::string outside_of(const SplitPlan& plan,
                       std::string_view text,
                       const std::vector<SplitEdit>& edits) {
  std::string kept;
  for (const Span& span : plan.outside)
    kept += edited(text, span, edits);
  // Where something was taken out, one empty line is left.
  while (kept.find("\n\n\n") != std::string::npos)
    kept = replaced(std::move(kept), "\n\n\n", "\n\n");
  return std::string(trim(kept)) + "\n";
}

std::string given_lines(const SplitPlan& plan,
                        std::string_view rank,
                        std::string_view ranks,
                        std::string_view communicator,
                        std::string_view params) {
  std::string text;
  const auto add = [&](const std::string& name, std::string_view type, std::string_view value) {
    if (!name.empty())
      text += line(fmt::format("[[maybe_unused]] const {} {} = {};", type, name, value));
  };
  add(plan.rank, "int", rank);
  add(plan.ranks, "int", ranks);
  add(plan.communicator, "ncclComm_t", communicator);
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const SplitParameter& parameter = plan.parameters[i];
    add(parameter.name, parameter.type, fmt::format("({}){}[{}]", parameter.type, params, i));
  }
  for (const std::string& value : plan.values)
    text += line(value);
  return text;
}

}  // namespace cuco::cli

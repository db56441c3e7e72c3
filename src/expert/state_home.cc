// SPDX-License-Identifier: Apache-2.0
#include "expert/state_home.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace cuco::expert {
namespace {
using analysis::Function;
using analysis::Syntax;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// "(anonymous namespace)::State **" is "State" behind two pointers.
std::pair<std::string, int> behind_pointers(std::string_view type) {
  int pointers = 0;
  while (!type.empty() && (type.back() == '*' || type.back() == ' ')) {
    pointers += type.back() == '*' ? 1 : 0;
    type.remove_suffix(1);
  }
  if (const auto colon = type.rfind("::"); colon != std::string_view::npos) {
    type.remove_prefix(colon + 2);
  }
  for (const std::string_view word : {"const ", "struct "}) {
    if (type.starts_with(word)) type.remove_prefix(word.size());
  }
  return {std::string(type), pointers};
}

/// Through a parameter or a variable.
std::string access_to(const Syntax& syntax, const Function& function, std::string_view type) {
  auto names = function.parameters;
  const auto declared = analysis::variables_in(function);
  names.insert(names.end(), declared.begin(), declared.end());
  return access_through(syntax, names, type);
}

/// Which argument of the call to `called` is the n-th parameter of `entry`.
std::optional<std::size_t> passed_as(const Syntax& syntax,
                                     const Function& entry,
                                     const Function& called,
                                     std::size_t n) {
  if (n >= entry.parameters.size()) return std::nullopt;
  for (const auto& site : analysis::calls_in(entry)) {
    if (site.call->function < 0 ||
        &syntax.functions[static_cast<std::size_t>(site.call->function)] != &called) {
      continue;
    }
    for (std::size_t i = 0; i < site.call->operands.size(); ++i) {
      const auto* operand = &site.call->operands[i];
      while (operand->variable < 0 && operand->operands.size() == 1)
        operand = operand->operands.data();
      if (operand->variable == entry.parameters[n]) return i;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string access_through(const Syntax& syntax,
                           const std::vector<int>& variables,
                           std::string_view type) {
  for (const int id : variables) {
    const auto& variable = syntax.variables[static_cast<std::size_t>(id)];
    const auto [name, pointers] = behind_pointers(variable.canonical);
    if (name != type) continue;
    if (pointers == 0) return variable.name + ".";
    if (pointers == 1) return variable.name + "->";
    if (pointers == 2) return "(*" + variable.name + ")->";
  }
  return {};
}

std::string object_before(const std::string& access) {
  if (access.ends_with(".")) return access.substr(0, access.size() - 1);
  const auto pointer = access.substr(0, access.size() - 2);
  return pointer.starts_with("(*") ? "*" + pointer.substr(1, pointer.size() - 2) : "*" + pointer;
}

Result<StateHome> find_state_home(const analysis::CommunicationGraph& graph) {
  const auto& syntax = graph.syntax;
  StateHome home;
  home.setup = analysis::function_behind(syntax, "cuco_setup");
  home.run = analysis::function_behind(syntax, "cuco_run");
  home.teardown = analysis::function_behind(syntax, "cuco_teardown");
  const auto* entry = analysis::find_function(syntax, "cuco_run");
  const bool split = home.setup != nullptr && home.run != nullptr && home.teardown != nullptr;
  if (!split || home.run == entry) {
    return no("the entry points do not call functions of the program");
  }
  if (analysis::returns_in(*home.setup).empty()) {
    return no("the set-up function has no return statement");
  }
  if (graph.state_record < 0) return no("the workload's state is no struct of the program");
  home.record = &syntax.records[static_cast<std::size_t>(graph.state_record)];
  for (const auto& field : home.record->fields) {
    if (behind_pointers(field.type) == std::pair<std::string, int>("cuco_context", 0)) {
      home.context = field.name;
    }
  }
  if (home.context.empty()) return no("the workload's state does not hold its context");
  home.in_setup = access_to(syntax, *home.setup, home.record->name);
  home.in_run = access_to(syntax, *home.run, home.record->name);
  home.in_teardown = access_to(syntax, *home.teardown, home.record->name);
  if (home.in_setup.empty() || home.in_run.empty() || home.in_teardown.empty()) {
    return no("the workload's functions do not reach its state by name");
  }
  const auto given = access_to(syntax, *home.setup, "cuco_context");
  home.setup_context = given.empty() ? home.in_setup + home.context : object_before(given);
  const auto state = passed_as(syntax, *entry, *home.run, 0);
  const auto set = passed_as(syntax, *entry, *home.run, 1);
  const auto stream = passed_as(syntax, *entry, *home.run, 2);
  if (!state || !set || !stream) return no("cuco_run does not hand its arguments on");
  home.state_parameter = *state;
  home.set_parameter = *set;
  home.stream_parameter = *stream;
  const auto name = [&](std::size_t parameter) {
    return syntax.variables[static_cast<std::size_t>(home.run->parameters[parameter])].name;
  };
  if (std::max({*state, *set, *stream}) >= home.run->parameters.size()) {
    return no("cuco_run does not hand its arguments on");
  }
  home.set = name(*set);
  home.stream = name(*stream);
  return home;
}

}  // namespace cuco::expert

// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/split/split_plan.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "analysis/syntax_query.h"
#include "cli/programs/split/split_outside.h"
#include "cli/programs/split/split_sizes.h"
#include "program/tokens.h"

namespace cuco::cli {
namespace {

using analysis::CommunicationGraph;
using analysis::Operation;
using analysis::OperationKind;
using analysis::Span;
using analysis::Statement;
using Kind = OperationKind;

Error in_the_way(int line, const std::string& why) {
  return {ErrorKind::InvalidInput, line > 0 ? fmt::format("line {}: {}", line, why) : why};
}

bool is_plain(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

/// "rank" of "&rank".
std::string target_of(const std::string& argument) {
  std::string name = argument;
  std::erase_if(name, [](unsigned char c) { return c == '&' || std::isspace(c) != 0; });
  return is_plain(name) ? name : std::string();
}

bool is_work(const Operation& operation) {
  return operation.kind == Kind::Launch || operation.kind == Kind::Communicate;
}

bool touches_host(const Operation& operation) {
  return operation.kind == Kind::Copy && (operation.reads.empty() || operation.writes.empty());
}

/// One variable of a declaration of several: "int n = 4;", "std::vector<float> x(n);".
std::string declaration(const analysis::Variable& variable,
                        const std::optional<analysis::Expression>& value) {
  if (!value) return fmt::format("{} {};", variable.type, variable.name);
  const bool names_itself = value->text.starts_with(variable.name);
  return fmt::format(
      "{} {};", variable.type,
      names_itself ? value->text : fmt::format("{} = {}", variable.name, value->text));
}

class Planner {
 public:
  Planner(const CommunicationGraph& graph, std::string_view text, const analysis::Function& main)
      : graph_(graph), text_(text), main_(main), statements_(main.body->statements) {
    in_.resize(statements_.size());
    for (const Statement& statement : statements_) {
      for (const auto& declared : statement.declared)
        declared_.insert(declared.variable);
    }
  }

  Result<SplitPlan> plan() {
    CUCO_TRY(refuse_other_shapes());
    CUCO_TRY(place_operations());
    take_given_names();
    CUCO_TRY(take_handles());
    CUCO_TRY(take_buffers());
    sort_statements();
    CUCO_TRY(slice_values());
    CUCO_TRY(launches_of_the_oracle());
    const auto outside = find_outside(graph_.syntax, main_, text_, needed_);
    plan_.includes = outside.includes;
    plan_.outside = outside.kept;
    return std::move(plan_);
  }

 private:
  Result<void> refuse_other_shapes() const {
    if (graph_.threads) return in_the_way(0, "its ranks are threads of one process");
    for (const Operation& operation : graph_.operations) {
      if (operation.name == "ncclCommInitAll")
        return in_the_way(operation.span.line, "one process drives all GPUs (ncclCommInitAll)");
    }
    bool has_work = false;
    for (const Operation& operation : graph_.operations) {
      if (!is_work(operation)) continue;
      has_work = true;
      if (operation.span.from_macro || operation.span.elsewhere)
        return in_the_way(operation.span.line,
                          fmt::format("{} stands in a macro or in a header", operation.name));
      for (const auto& function : graph_.syntax.functions) {
        if (function.name == operation.function && function.record >= 0) {
          return in_the_way(operation.span.line,
                            fmt::format("{} stands in a member function ({}), not in main()",
                                        operation.name, operation.function));
        }
      }
    }
    if (!has_work) return in_the_way(0, "it launches nothing");
    return {};
  }

  /// The number of the statement of main() around it.
  [[nodiscard]] std::optional<std::size_t> place_of(const Operation& operation) const {
    const Span& span = operation.nest.empty() ? operation.statement : operation.nest.front().span;
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      if (statements_[i].span.begin <= span.begin && span.begin < statements_[i].span.end) return i;
    }
    return std::nullopt;
  }

  Result<void> place_operations() {
    first_ = statements_.size();
    for (const Operation& operation : graph_.operations) {
      const auto place = place_of(operation);
      if (!place) {
        if (is_work(operation))
          return in_the_way(
              operation.span.line,
              fmt::format("{} is not reached from main()'s own block", operation.name));
        continue;
      }
      in_[*place].push_back(&operation);
      if (!is_work(operation)) continue;
      first_ = std::min(first_, *place);
      last_ = std::max(last_, *place);
    }
    return {};
  }

  void take_given_names() {
    for (const Operation& operation : graph_.operations) {
      const auto& words = operation.arguments;
      if (operation.name == "MPI_Comm_rank" && plan_.rank.empty()) plan_.rank = target_of(words[1]);
      if (operation.name == "MPI_Comm_size" && plan_.ranks.empty())
        plan_.ranks = target_of(words[1]);
      if (!operation.name.starts_with("ncclCommInitRank") || words.size() < 4) continue;
      plan_.communicator = target_of(words[0]);
      if (plan_.ranks.empty()) plan_.ranks = target_of(words[1]);
      if (plan_.rank.empty()) plan_.rank = target_of(words[3]);
    }
  }

  [[nodiscard]] const analysis::Variable* local(const std::string& name) const {
    for (const int variable : analysis::variables_in(main_)) {
      const auto& found = graph_.syntax.variables[static_cast<std::size_t>(variable)];
      if (found.name == name) return &found;
    }
    return nullptr;
  }

  Result<void> take_handles() {
    std::vector<const analysis::Handle*> streams;
    for (const auto& stream : graph_.streams) {
      if (!stream.maker.empty()) streams.push_back(&stream);
    }
    const bool on_default = std::ranges::any_of(graph_.operations, [](const Operation& operation) {
      return is_work(operation) && operation.stream < 0;
    });
    if (on_default && !streams.empty())
      return in_the_way(0, "it uses the default stream beside others, which waits for all of them");
    const auto take = [&](const analysis::Handle& handle, bool is_stream) -> Result<void> {
      const auto* variable = is_plain(handle.name) ? local(handle.name) : nullptr;
      if (variable == nullptr)
        return in_the_way(handle.created.line,
                          fmt::format("{} is no variable of main()", handle.name));
      if (is_stream && streams.size() == 1) {
        plan_.stream = handle.name;
      } else {
        plan_.handles.push_back({handle.name, variable->type, is_stream});
      }
      return {};
    };
    for (const auto* stream : streams)
      CUCO_TRY(take(*stream, true));
    for (const auto& event : graph_.events) {
      if (!event.maker.empty()) CUCO_TRY(take(event, false));
    }
    return {};
  }

  Result<void> take_buffers() {
    SplitSizes sizes(graph_.syntax, main_, text_, plan_.ranks);
    for (int i = 0; i < static_cast<int>(graph_.buffers.size()); ++i) {
      const auto& buffer = graph_.buffers[static_cast<std::size_t>(i)];
      const auto* variable = is_plain(buffer.name) ? local(buffer.name) : nullptr;
      if (variable == nullptr) {
        return in_the_way(buffer.allocated.line,
                          fmt::format("{} is no plain variable of main()", buffer.name));
      }
      SplitBuffer made{buffer.name, variable->type, buffer.bytes, "", role_of(graph_, i)};
      if (made.role == Role::Scratch && is_in_loop(buffer.allocated)) {
        return in_the_way(buffer.allocated.line,
                          fmt::format("{} is allocated in a loop", buffer.name));
      }
      if (made.role != Role::Scratch) {
        if (variable->canonical.find("float") == std::string::npos) {
          return in_the_way(buffer.allocated.line,
                            fmt::format("{} holds {}; only fp32 can be made up and compared",
                                        buffer.name, variable->type));
        }
        CUCO_TRY_ASSIGN(made.elements, sizes.elements(buffer.name, buffer.bytes));
      }
      plan_.buffers.push_back(std::move(made));
    }
    plan_.parameters = sizes.parameters();
    const auto has = [&](Role role) {
      return std::ranges::any_of(plan_.buffers, [&](const SplitBuffer& buffer) {
        return buffer.role == role || buffer.role == Role::InputAndOutput;
      });
    };
    if (!has(Role::Input)) return in_the_way(0, "nothing is copied to the device: it has no input");
    if (!has(Role::Output)) return in_the_way(0, "nothing is copied back: it has no output");
    return {};
  }

  [[nodiscard]] bool is_in_loop(const Span& call) const {
    return std::ranges::any_of(graph_.operations, [&](const Operation& operation) {
      return operation.span.begin == call.begin &&
             std::ranges::any_of(operation.nest, [](const analysis::Nest& nest) {
               return nest.kind == analysis::NestKind::Loop;
             });
    });
  }

  /// Whether it makes scratch memory, or a stream or an event that stays the program's own.
  [[nodiscard]] bool makes_own(const Operation& operation) const {
    const auto is_here = [&](const Span& span) { return span.begin == operation.span.begin; };
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (plan_.buffers[i].role == Role::Scratch && is_here(graph_.buffers[i].allocated))
        return true;
    }
    for (const auto* list : {&graph_.streams, &graph_.events}) {
      for (const auto& handle : *list) {
        if (is_here(handle.created) && handle.name != plan_.stream) return true;
      }
    }
    return false;
  }

  /// Each statement of main() that holds operations goes to one place, or nowhere.
  void sort_statements() {
    for (std::size_t i = 0; i < statements_.size() && i <= last_; ++i) {
      const Span& span = statements_[i].span;
      const auto any = [&](auto what) { return std::ranges::any_of(in_[i], what); };
      const bool works = any([](const Operation* one) { return is_work(*one); });
      if (any([&](const Operation* one) { return makes_own(*one); })) {
        plan_.made.push_back(span);
      } else if (works || (i > first_ && in_[i].empty())) {
        plan_.run.push_back(span);
      } else if (any([](const Operation* one) {
                   return one->kind == Kind::Fill || one->kind == Kind::RecordEvent ||
                          one->kind == Kind::WaitEvent || one->kind == Kind::BeginGroup ||
                          one->kind == Kind::EndGroup ||
                          (one->kind == Kind::Copy && !touches_host(*one));
                 })) {
        (i < first_ ? plan_.fills : plan_.run).push_back(span);
      }
      if (i < first_) continue;
      for (const Operation* one : in_[i]) {
        const bool is_outside = touches_host(*one) || one->kind == Kind::Wait ||
                                one->kind == Kind::Clock || one->kind == Kind::Mpi;
        if (is_outside) plan_.left_out.push_back({one->statement.begin, one->statement.end, ";"});
      }
    }
  }

  void need(std::string_view text) {
    for (const auto& found : program::identifiers(text))
      needed_.emplace(found.name);
  }

  [[nodiscard]] std::string text_of(const Span& span) const {
    return edited(text_, span, plan_.left_out);
  }

  /// What set-up and run refer to, followed backwards through main().
  Result<void> slice_values() {
    for (const auto* list : {&plan_.made, &plan_.fills, &plan_.run}) {
      for (const Span& span : *list)
        need(text_of(span));
    }
    for (const SplitBuffer& buffer : plan_.buffers) {
      if (buffer.role == Role::Scratch || buffer.role == Role::InputAndOutput) need(buffer.bytes);
    }
    std::set<std::string, std::less<>> given = {plan_.rank, plan_.ranks, plan_.communicator,
                                                plan_.stream};
    for (const SplitBuffer& buffer : plan_.buffers)
      given.insert(buffer.name);
    for (const SplitHandle& handle : plan_.handles)
      given.insert(handle.name);
    for (std::size_t i = first_; i-- > 0;)
      CUCO_TRY(slice(statements_[i], in_[i], given));
    // What leads into buffers comes behind them.
    std::set<std::string, std::less<>> late;
    for (const SplitBuffer& buffer : plan_.buffers)
      late.insert(buffer.name);
    for (auto value = values_.rbegin(); value != values_.rend(); ++value) {
      const auto found = program::identifiers(value->text);
      const bool is_late =
          std::ranges::any_of(found, [&](const auto& one) { return late.contains(one.name); });
      if (is_late && !value->declares.empty()) late.insert(value->declares);
      (is_late ? plan_.pointers : plan_.values).push_back(value->text);
    }
    return {};
  }

  Result<void> slice(const Statement& statement,
                     const std::vector<const Operation*>& operations,
                     const std::set<std::string, std::less<>>& given) {
    const auto is_needed = [&](const std::string& name) {
      return needed_.contains(name) && !given.contains(name);
    };
    for (const Operation* operation : operations) {
      for (const std::string& argument : operation->arguments) {
        if (argument.starts_with('&') && is_needed(target_of(argument)) &&
            operation->kind != Kind::Create && operation->kind != Kind::Allocate)
          return in_the_way(operation->span.line,
                            fmt::format("{} comes from {}", target_of(argument), operation->name));
      }
    }
    if (statement.kind != analysis::StatementKind::Declare) {
      const auto is_needed_here = [&](int variable) {
        return declared_.contains(variable) &&
               is_needed(graph_.syntax.variables[static_cast<std::size_t>(variable)].name);
      };
      if (!operations.empty() || !writes_to(statement, is_needed_here)) return {};
      const std::string text(
          text_.substr(statement.span.begin, statement.span.end - statement.span.begin));
      need(text);
      values_.push_back({"", text});
      return {};
    }
    for (auto declared = statement.declared.rbegin(); declared != statement.declared.rend();
         ++declared) {
      if (declared->variable < 0) continue;
      const auto& variable = graph_.syntax.variables[static_cast<std::size_t>(declared->variable)];
      if (!is_needed(variable.name)) continue;
      const bool is_parameter = std::ranges::any_of(
          plan_.parameters,
          [&](const SplitParameter& parameter) { return parameter.name == variable.name; });
      if (is_parameter) continue;
      const std::string text =
          statement.declared.size() == 1
              ? std::string(
                    text_.substr(statement.span.begin, statement.span.end - statement.span.begin))
              : declaration(variable, declared->value);
      need(text);
      values_.push_back({variable.name, text});
    }
    return {};
  }

  /// Texts of launches, and the stream where none is named.
  Result<void> launches_of_the_oracle() {
    std::set<std::size_t> seen;
    for (const Operation& operation : graph_.operations) {
      if (!is_work(operation) || !seen.insert(operation.span.begin).second) continue;
      if (operation.kind == Kind::Communicate) {
        if (operation.stream < 0) CUCO_TRY(name_stream(operation));
        continue;
      }
      const auto found = launch_at(text_, operation.span);
      if (!found) return in_the_way(operation.span.line, "its launch is no <<<…>>>");
      plan_.on_host.push_back({found->begin, found->end,
                               fmt::format("cuco_oracle::launch({}, {}, {}, [&] {{ {}({}); }})",
                                           found->grid, found->block, synchronises(operation.name),
                                           found->kernel, found->arguments)});
      if (operation.stream >= 0) continue;
      plan_.default_stream.push_back(
          {found->begin, found->end,
           fmt::format("{}<<<{}, {}, {}, cuco_stream>>>({})", found->kernel, found->grid,
                       found->block, found->shared, found->arguments)});
    }
    return {};
  }

  /// Whether threads of its blocks wait for each other, as far as the text tells.
  [[nodiscard]] bool synchronises(const std::string& kernel) const {
    return std::ranges::any_of(graph_.syntax.functions, [&](const analysis::Function& function) {
      const bool is_other_kernel =
          function.kind == analysis::FunctionKind::Kernel && function.name != kernel;
      if (is_other_kernel || function.kind == analysis::FunctionKind::Host ||
          function.span.elsewhere)
        return false;
      const auto text = text_.substr(function.span.begin, function.span.end - function.span.begin);
      return text.find("__sync") != std::string_view::npos ||
             text.find("__shfl") != std::string_view::npos;
    });
  }

  Result<void> name_stream(const Operation& operation) {
    const std::string_view call =
        text_.substr(operation.span.begin, operation.span.end - operation.span.begin);
    const std::size_t comma = call.rfind(','), close = call.rfind(')');
    if (comma == std::string_view::npos || close == std::string_view::npos || close < comma)
      return in_the_way(operation.span.line, "the call's stream was not found");
    plan_.default_stream.push_back(
        {operation.span.begin + comma, operation.span.begin + close, ", cuco_stream"});
    return {};
  }

  const CommunicationGraph& graph_;
  std::string_view text_;
  const analysis::Function& main_;
  const std::vector<Statement>& statements_;
  std::vector<std::vector<const Operation*>> in_;  ///< Of each statement.
  std::size_t first_ = 0, last_ = 0;               ///< Statements with work.
  std::set<int> declared_;                         ///< Variables of main()'s own block.
  std::set<std::string, std::less<>> needed_;
  struct Value {
    std::string declares, text;
  };
  std::vector<Value> values_;  ///< From the last to the first.
  SplitPlan plan_;
};

}  // namespace

Role role_of(const CommunicationGraph& graph, int buffer) {
  const auto has = [](const std::vector<int>& list, int value) {
    return std::ranges::find(list, value) != list.end();
  };
  bool given = false;
  bool wanted = false;
  for (const Operation& operation : graph.operations) {
    if (operation.kind != Kind::Copy) continue;
    given = given || (operation.reads.empty() && has(operation.writes, buffer));
    wanted = wanted || (operation.writes.empty() && has(operation.reads, buffer));
  }
  return given && wanted ? Role::InputAndOutput
         : given         ? Role::Input
         : wanted        ? Role::Output
                         : Role::Scratch;
}

Result<SplitPlan> plan_split(const CommunicationGraph& graph, std::string_view text) {
  const auto* main = analysis::find_function(graph.syntax, "main");
  if (main == nullptr || !main->body) return in_the_way(0, "main() was not found");
  return Planner(graph, text, *main).plan();
}

std::string edited(std::string_view text, const Span& span, const std::vector<SplitEdit>& edits) {
  std::vector<SplitEdit> mine;
  for (const SplitEdit& edit : edits) {
    if (span.begin <= edit.begin && edit.end <= span.end) mine.push_back(edit);
  }
  std::ranges::sort(mine, {}, &SplitEdit::begin);
  std::string result;
  std::size_t at = span.begin;
  for (const SplitEdit& edit : mine) {
    if (edit.begin < at) continue;  // It lies in one that was made.
    result += text.substr(at, edit.begin - at);
    result += edit.text;
    at = edit.end;
  }
  result += text.substr(at, span.end - at);
  return result;
}

}  // namespace cuco::cli

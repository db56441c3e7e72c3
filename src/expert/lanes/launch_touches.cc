// SPDX-License-Identifier: Apache-2.0
#include "expert/lanes/launch_touches.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/kernels/reading/visit.h"
#include "expert/lanes/side_effects.h"

namespace cuco::expert::lanes {
namespace {

using analysis::CommunicationGraph;
using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Function;
using analysis::Span;
using analysis::Syntax;
using analysis::Variable;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// What is done through one argument; the worst of several comes last.
enum class Access { None, Reads, Writes, Holds, Everything };

bool is_number(std::string_view canonical) {
  if (canonical.starts_with("enum ")) return true;
  const auto words = split(canonical, ' ');
  return std::ranges::all_of(words, [](std::string_view word) {
    constexpr std::array<std::string_view, 10> kWords = {
        "bool", "char", "signed", "unsigned", "short", "int", "long", "float", "double", "const"};
    return std::ranges::find(kWords, word) != kWords.end();
  });
}

/// Says what kernels do through their parameters.
class Kernels {
 public:
  explicit Kernels(const Syntax& syntax) : syntax_(syntax) {}

  Access access(const Variable& parameter, bool written) const {
    const std::string_view type = parameter.canonical;
    if (type.find("nccl") != std::string_view::npos) return Access::Everything;
    if (type.ends_with("*")) return through_pointer(trim(type.substr(0, type.size() - 1)), written);
    if (is_number(type)) {
      const bool address = parameter.type.find("ptr_t") != std::string::npos;
      return address ? Access::Holds : Access::None;
    }
    return has_handle(parameter.record, 0) ? Access::Everything : Access::Holds;
  }

  /// All that is done through the parameter is known from the pointer that it is, or nothing is
  /// done.
  [[nodiscard]] bool is_plain(const Variable& parameter, bool written) const {
    const Access done = access(parameter, written);
    if (done != Access::Holds) return done != Access::Everything;
    return parameter.record >= 0 &&
           !has_pointer(syntax_.records[static_cast<std::size_t>(parameter.record)]);
  }

  /// It reaches memory that is no argument of it: variables of the device.
  [[nodiscard]] bool has_hidden_memory(const Function& kernel) const {
    std::set<int> seen;
    return !kernel.body || reaches_variable(kernel, seen);
  }

 private:
  [[nodiscard]] Access through_pointer(std::string_view pointee, bool written) const {
    if (pointee.find('*') != std::string_view::npos) return Access::Everything;
    const bool is_const = pointee.starts_with("const ") || pointee.ends_with(" const");
    const std::string_view name =
        is_const && pointee.starts_with("const ") ? pointee.substr(6) : pointee;
    for (const auto& record : syntax_.records) {
      // Pointers that lie in memory are not seen by who looks at the arguments.
      if (is_name_of(record, name) && has_pointer(record)) return Access::Everything;
    }
    return is_const && !written ? Access::Reads : Access::Writes;
  }

  /// A variable of the device that is there before and after a launch.
  static bool is_memory(const Variable& variable) {
    constexpr std::array<std::string_view, 5> kIndices = {"threadIdx", "blockIdx", "blockDim",
                                                          "gridDim", "warpSize"};
    return variable.device && std::ranges::find(kIndices, variable.name) == kIndices.end();
  }

  bool reaches_variable(const Function& function, std::set<int>& seen) const {
    bool reaches = false;
    kernels::for_each_expression(*function.body, [&](const Expression& part) {
      if (part.kind == ExpressionKind::Variable && part.variable >= 0)
        reaches = reaches || is_memory(syntax_.variables[static_cast<std::size_t>(part.variable)]);
      if (part.function < 0 || !seen.insert(part.function).second) return;
      const auto& called = syntax_.functions[static_cast<std::size_t>(part.function)];
      if (called.body) reaches = reaches || reaches_variable(called, seen);
    });
    return reaches;
  }

  static bool is_name_of(const analysis::Record& record, std::string_view type) {
    return type == record.name || type.ends_with("::" + record.name) ||
           type.starts_with(record.name + "<");
  }

  [[nodiscard]] bool has_pointer(const analysis::Record& record) const {
    return std::ranges::any_of(record.fields, [&](const analysis::Field& field) {
      if (field.type.find('*') != std::string::npos) return true;
      return field.record >= 0 &&
                     &syntax_.records[static_cast<std::size_t>(field.record)] != &record
                 ? has_pointer(syntax_.records[static_cast<std::size_t>(field.record)])
                 : false;
    });
  }

  /// Holds what leads to other ranks' memory.
  [[nodiscard]] bool has_handle(int record, int depth) const {
    if (record < 0 || depth > 8) return false;
    const auto& fields = syntax_.records[static_cast<std::size_t>(record)].fields;
    return std::ranges::any_of(fields, [&](const analysis::Field& field) {
      return field.type.find("nccl") != std::string::npos || has_handle(field.record, depth + 1);
    });
  }

  const Syntax& syntax_;
};

const Function* function_of(const CommunicationGraph& graph, const analysis::Kernel& kernel) {
  const auto found = std::ranges::find_if(graph.syntax.functions, [&](const Function& function) {
    return function.name == kernel.name && function.arguments == kernel.arguments &&
           function.span == kernel.span;
  });
  return found == graph.syntax.functions.end() ? nullptr : &*found;
}

/// One launch of the text, and all kernels that it may be of.
struct Site {
  const Expression* launch = nullptr;
  const Function* function = nullptr;  ///< That holds it.
  std::set<int> kernels;               ///< Of the graph.
  bool unknown = false;                ///< Of others, too.
  bool several = false;                ///< A macro writes more than one launch there.
};

class Launches {
 public:
  Launches(const CommunicationGraph& graph, const MoreTouches& more)
      : graph_(graph), more_(more), kernels_(graph.syntax) {}

  Result<std::vector<StreamEdit>> edits() {
    find_sites();
    std::vector<StreamEdit> edits;
    for (const auto& [place, site] : sites_) {
      CUCO_TRY_ASSIGN(StreamEdit edit, edit_of(site));
      edits.push_back(std::move(edit));
    }
    return edits;
  }

 private:
  /// The spans of a launch in a macro's argument begin where its first part does.
  using Place = std::pair<std::size_t, std::size_t>;
  static Place place_of(const Span& span) { return {span.begin, span.end}; }

  void find_sites() {
    for (const Function& function : graph_.syntax.functions) {
      if (function.kind != analysis::FunctionKind::Host || !function.body) continue;
      kernels::for_each_expression(*function.body, [&](const Expression& part) {
        if (part.kind != ExpressionKind::Launch || part.span.elsewhere) return;
        Site& site = sites_[place_of(part.span)];
        site.several = site.several || site.function == &function;
        if (site.launch == nullptr || site.launch->configuration.empty()) site.launch = &part;
        site.function = &function;
      });
    }
    std::set<Place> followed;
    for (const auto& operation : graph_.operations) {
      if (operation.kind != analysis::OperationKind::Launch) continue;
      const auto site = sites_.find(place_of(operation.span));
      if (site == sites_.end()) continue;
      followed.insert(site->first);
      if (operation.kernel < 0) site->second.unknown = true;
      if (operation.kernel >= 0) site->second.kernels.insert(operation.kernel);
    }
    // What no entry point was seen to reach may be reached in ways that were not seen.
    for (auto& [place, site] : sites_)
      site.unknown = site.unknown || !followed.contains(place);
  }

  Result<StreamEdit> edit_of(const Site& site) {
    const Expression& launch = *site.launch;
    const int line = launch.span.line;
    const auto& given = launch.configuration;
    if (site.several) return no(fmt::format("a macro in line {} writes several launches", line));
    if (given.size() < 2) return no(fmt::format("the launch in line {} is not understood", line));
    const bool names_stream = given.size() == 4 && !given[3].span.elsewhere;
    const Expression* last = names_stream ? &given[3] : &given[1];
    const bool names_shared = given.size() >= 3 && !given[2].span.elsewhere;
    if (!names_stream && names_shared) last = &given[2];
    if (last->span.from_macro)
      return no(fmt::format("a macro names the stream of the launch in line {}", line));
    if (names_stream && !is_repeatable(graph_.syntax, *last))
      return no(fmt::format("the stream of the launch in line {} has side effects", line));
    CUCO_TRY_ASSIGN(std::string touches, touches_of(site));
    if (const auto more = more_.find(launch.span.begin); more != more_.end())
      touches += ", " + more->second;
    const std::string lane =
        fmt::format("cuco::lane({}{})", names_stream ? last->text : "nullptr", touches);
    if (names_stream) return StreamEdit{last->span.begin, last->span.end, lane};
    return StreamEdit{last->span.end, last->span.end,
                      fmt::format("{}, {}", names_shared ? "" : ", 0", lane)};
  }

  /// ", cuco::reads(a, b), cuco::writes(c)".
  Result<std::string> touches_of(const Site& site) {
    const auto& arguments = site.launch->operands;
    std::vector<Access> accesses(arguments.size(), Access::None);
    bool everything = site.unknown;
    for (const int kernel : site.kernels)
      everything =
          everything || !add_accesses(graph_.kernels[static_cast<std::size_t>(kernel)], accesses);
    std::map<Access, std::vector<std::string>> texts;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Expression& argument = arguments[i];
      // What a macro's body writes has no text of its own.
      const bool unseen = argument.span.from_macro || argument.kind == ExpressionKind::List ||
                          argument.text.ends_with("...");
      everything = everything || accesses[i] == Access::Everything ||
                   (accesses[i] != Access::None && unseen);
      texts[accesses[i]].push_back(argument.text);
    }
    if (everything) return std::string(", cuco::everything()");
    std::string text;
    for (const auto& [access, name] :
         {std::pair{Access::Reads, "reads"}, std::pair{Access::Writes, "writes"},
          std::pair{Access::Holds, "holds"}}) {
      if (!texts[access].empty())
        text += fmt::format(", cuco::{}({})", name, join(texts[access], ", "));
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (accesses[i] == Access::None || is_repeatable(graph_.syntax, arguments[i])) continue;
      return no(fmt::format("the argument '{}' of the launch in line {} has side effects",
                            arguments[i].text, site.launch->span.line));
    }
    return text;
  }

  /// False if what it touches is not among its arguments.
  bool add_accesses(const analysis::Kernel& kernel, std::vector<Access>& accesses) {
    const Function* function = function_of(graph_, kernel);
    if (function == nullptr || kernels_.has_hidden_memory(*function)) return false;
    if (function->parameters.size() != accesses.size()) return false;
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      const auto id = static_cast<std::size_t>(function->parameters[i]);
      const Access access =
          kernels_.access(graph_.syntax.variables[id], kernel.parameters[i].written);
      accesses[i] = std::max(accesses[i], access);
    }
    return true;
  }

  const CommunicationGraph& graph_;
  const MoreTouches& more_;
  Kernels kernels_;
  std::map<Place, Site> sites_;
};

}  // namespace

bool is_seen_by_arguments(const CommunicationGraph& graph, const analysis::Kernel& kernel) {
  const Function* function = function_of(graph, kernel);
  const Kernels kernels(graph.syntax);
  if (function == nullptr || kernels.has_hidden_memory(*function) ||
      function->parameters.size() != kernel.parameters.size()) {
    return false;
  }
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const auto id = static_cast<std::size_t>(function->parameters[i]);
    if (!kernels.is_plain(graph.syntax.variables[id], kernel.parameters[i].written)) return false;
  }
  return true;
}

Result<std::vector<StreamEdit>> lanes_of_launches(const CommunicationGraph& graph,
                                                  const MoreTouches& more) {
  return Launches(graph, more).edits();
}

}  // namespace cuco::expert::lanes

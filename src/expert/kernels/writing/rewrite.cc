// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/rewrite.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/edit.h"
#include "expert/kernels/writing/fast_math.h"
#include "expert/kernels/writing/kernel_rewriter.h"
#include "program/regions.h"

namespace cuco::expert::kernels {
namespace {

using analysis::CommunicationGraph;
using analysis::Function;
using analysis::FunctionKind;

Error no(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// One kernel of the text, which may be several of the program: a template's instantiations.
struct SourceKernel {
  std::vector<const Function*> functions;
  std::vector<LaunchText> launches;  ///< Each place in the text once.
  LaunchBuffers buffers;             ///< What every launch gives it, also of one place in the text.
  bool all_launches = true;          ///< None is written by a macro.
};

std::map<std::size_t, SourceKernel> find_kernels(const CommunicationGraph& graph,
                                                 std::string_view text) {
  std::map<std::size_t, SourceKernel> kernels;
  for (const auto& function : graph.syntax.functions) {
    if (function.kind == FunctionKind::Kernel && function.body && !function.body->span.elsewhere &&
        !function.body->span.from_macro)
      kernels[function.body->span.begin].functions.push_back(&function);
  }
  std::set<std::size_t> seen;
  for (const auto& launch : graph.launches) {
    const auto& body = graph.kernels[static_cast<std::size_t>(launch.kernel)].body;
    const auto known = kernels.find(body.begin);
    if (known == kernels.end()) continue;
    known->second.buffers.push_back(launch.buffers);
    if (!seen.insert(launch.span.begin).second) continue;
    if (auto read = read_launch(graph, launch, text)) {
      known->second.launches.push_back(*std::move(read));
    } else {
      known->second.all_launches = false;
    }
  }
  return kernels;
}

/// Where the kernel's declaration begins: template headers stand in front of it.
std::size_t declaration_begin(std::string_view text, std::size_t kernel) {
  while (true) {
    const auto last = text.find_last_not_of(" \t\n", kernel - 1);
    if (kernel == 0 || last == std::string_view::npos || text[last] != '>') return kernel;
    auto open = last;
    for (int depth = 1; depth > 0 && open > 0;) {
      --open;
      if (text[open] == '>') ++depth;
      if (text[open] == '<') --depth;
    }
    constexpr std::string_view kTemplate = "template";
    const auto before = trim(text.substr(0, open));
    if (!before.ends_with(kTemplate)) return kernel;
    kernel =
        before.size() + (static_cast<std::size_t>(before.data() - text.data())) - kTemplate.size();
  }
}

/// Where new functions go: in front of the kernel and its comments, but inside the region that may
/// be changed.
std::size_t above(std::string_view text, std::size_t kernel) {
  auto line = text.rfind('\n', declaration_begin(text, kernel)) + 1;
  while (line > 1) {
    const auto before = text.rfind('\n', line - 2);
    const auto begin = before == std::string_view::npos ? 0 : before + 1;
    const auto content = trim(text.substr(begin, line - 1 - begin));
    if (!content.starts_with("//") || content.find("cuco:") != content.npos) break;
    line = begin;
  }
  return line;
}

/// One more parameter in front of those of its template, if it is one.
void make_template(std::string_view text,
                   std::size_t kernel,
                   const std::string& parameter,
                   Edits& edits) {
  const auto begin = declaration_begin(text, kernel);
  if (begin == kernel) {
    edits.insert(begin, fmt::format("template <bool {}>\n", parameter));
  } else {
    edits.insert(text.find('<', begin) + 1, fmt::format("bool {}, ", parameter));
  }
}

/// Line breaks become spaces: the text is broken anew. With comments in it, it stays as it is.
std::string on_one_line(std::string_view text) {
  if (text.find("//") != std::string_view::npos) return std::string(text);
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\n') {
      result += text[at];
      continue;
    }
    while (!result.empty() && result.back() == ' ')
      result.pop_back();
    at = std::min(text.find_first_not_of(" \t\n", at), text.size()) - 1;
    if (!result.empty() && result.back() != '(') result += ' ';
  }
  return result;
}

/// The kernel's name with one more argument in front of those of its template.
std::string with_argument(std::string_view name, std::string_view argument) {
  const auto arguments = name.find('<');
  if (arguments == std::string_view::npos) return fmt::format("{}<{}>", name, argument);
  return fmt::format("{}<{}, {}", name.substr(0, arguments), argument,
                     trim(name.substr(arguments + 1)));
}

/// One launch of either version of the kernel. `changed`: from its grid to its last argument.
std::string by_length(const LaunchText& launch,
                      const std::string& whole,
                      const std::string& changed,
                      std::string_view text) {
  const auto open = text.find("<<<", launch.span.begin);
  const auto name = trim(text.substr(launch.span.begin, open - launch.span.begin));
  const auto margin = std::string(indentation(text, launch.span.begin), ' ');
  const auto either = [&](std::string_view argument) {
    return fmt::format("{}  {}<<<{});\n{}", margin, with_argument(name, argument), changed, margin);
  };
  const auto code =
      fmt::format("if ({}) {{\n{}}} else {{\n{}}}", whole, either("true"), either("false"));
  // An if or else in front of it takes one statement.
  const auto before = trim(text.substr(0, launch.span.begin));
  const bool first = before.ends_with(";") || before.ends_with("{") || before.ends_with("}");
  return first ? code : "{ " + code + " }";
}

void change_launch(const LaunchText& launch,
                   const RewrittenKernel& kernel,
                   const FitNames& names,
                   std::string_view text,
                   Edits& edits) {
  auto grid = launch.grid_text;
  auto block = kernel.threads > 0 ? std::to_string(kernel.threads) : launch.block_text;
  std::string blocks;
  if (kernel.grid_divisor > 1 && launch.flat) {
    grid =
        fmt::format("({} + {}) / {}", as_term(grid), kernel.grid_divisor - 1, kernel.grid_divisor);
  }
  if (kernel.blocks_per_row > 1) grid = fmt::format("dim3({}, {})", grid, kernel.blocks_per_row);
  if (kernel.rows_per_block > 1) {
    const int rows = kernel.rows_per_block;
    blocks = ", " + grid;
    grid = fmt::format("({} + {}) / {}", as_term(grid), rows - 1, rows);
    block = fmt::format("dim3({}, {})", block, rows);
  }
  if (kernel.fitted.fit != Fit::None) {
    const auto fitted = fit_launch(kernel.fitted, launch, names);
    grid = fitted.grid;
    block = fitted.block;
    if (kernel.fitted.fit == Fit::Rows) blocks = ", " + launch.grid_text;
  }
  if (grid == launch.grid_text && block == launch.block_text) return;
  const auto between = text.substr(launch.grid.end, launch.block.begin - launch.grid.end);
  const auto rest = text.substr(launch.block.end, launch.arguments_end - launch.block.end);
  const auto changed = fmt::format("{}{}{}{}{}", grid, between, block, on_one_line(rest), blocks);
  if (kernel.whole.empty()) {
    edits.replace(launch.grid.begin, launch.arguments_end, changed);
  } else {
    edits.replace(launch.span.begin, launch.statement_end,
                  by_length(launch, fit_launch(kernel.fitted, launch, names).whole, changed, text));
  }
}

/// Names that the program does not use yet.
HelperNames helper_names(const CommunicationGraph& graph,
                         const std::map<std::size_t, SourceKernel>& kernels,
                         std::string_view text) {
  FreshNames fresh(text);
  HelperNames names{{fresh.make("Vector"), fresh.make("load_vector"), fresh.make("store_vector"),
                     fresh.make("is_aligned")},
                    {},
                    {fresh.make("row_parts"), fresh.make("row_threads"), fresh.make("row_block"),
                     fresh.make("row_grid")}};
  for (const auto& [begin, source] : kernels) {
    const KernelBody body(graph.syntax, *source.functions.front());
    for (const auto& tree : find_tree_reductions(body)) {
      auto& name = names.reducers[tree.operation];
      if (name.empty()) name = fresh.make(usual_reducer_name(tree.operation));
    }
  }
  return names;
}

std::vector<std::string> dimensions(const design::KernelDesign& design) {
  std::vector<std::string> names;
  if (design.vector_bytes > 0) names.emplace_back("vectors");
  if (design.rounds > 0) names.emplace_back("rounds");
  if (design.shuffles) names.emplace_back("shuffles");
  if (design.fast_math) names.emplace_back("fast math");
  if (design.read_only) names.emplace_back("read-only loads");
  if (design.fitted) names.emplace_back("fitted launches");
  if (design.threads > 0) names.emplace_back("threads");
  if (design.blocks_per_row > 1) names.emplace_back("blocks a row");
  if (design.rows_per_block > 1) names.emplace_back("rows a block");
  return names;
}

/// The functions that the rewritten kernels call.
std::string helpers_for(const std::map<const SourceKernel*, RewrittenKernel>& kernels,
                        const HelperNames& names) {
  std::string text;
  ReducerNames reducers;
  bool fitted = false;
  for (const auto& [source, kernel] : kernels) {
    if (kernel.vectors) {
      text = filled("vector.cu", {{"vector", names.vectors.vector},
                                  {"load", names.vectors.load},
                                  {"store", names.vectors.store},
                                  {"aligned", names.vectors.aligned}}) +
             "\n";
    }
    reducers.insert(kernel.reducers.begin(), kernel.reducers.end());
    fitted = fitted || kernel.fitted.fit != Fit::None;
  }
  if (fitted) {
    text += filled("fitted_launch.cu", {{"parts", names.fits.parts},
                                        {"threads", names.fits.threads},
                                        {"block", names.fits.block},
                                        {"grid", names.fits.grid}}) +
            "\n";
  }
  for (const auto& [operation, name] : reducers)
    text += reducer(operation, name) + "\n";
  return text;
}

/// Fast arithmetic in the functions that kernels call, where all instantiations agree and the host
/// does not call them, too.
std::vector<Replacement> approximate_functions(const CommunicationGraph& graph,
                                               std::string_view text) {
  const auto regions = program::find_regions(text);
  std::map<std::size_t, std::vector<std::vector<Replacement>>> found;
  for (const auto& function : graph.syntax.functions) {
    if (function.kind != FunctionKind::Device || !function.body || function.body->span.elsewhere ||
        function.body->span.from_macro)
      continue;
    const auto& span = function.body->span;
    const auto head = text.substr(function.span.begin, span.begin - function.span.begin);
    const bool frozen = regions && !regions->empty() &&
                        std::ranges::none_of(*regions, [&](const program::Region& region) {
                          return span.begin >= region.begin && span.end <= region.end;
                        });
    if (frozen || head.find("__host__") != std::string_view::npos ||
        head.find("constexpr") != std::string_view::npos)
      continue;
    found[span.begin].push_back(use_fast_math(*function.body, text));
  }
  std::vector<Replacement> made;
  for (auto& [begin, versions] : found) {
    const auto differs = [&](const auto& version) { return version != versions.front(); };
    if (std::ranges::any_of(versions, differs)) continue;
    std::ranges::move(versions.front(), std::back_inserter(made));
  }
  return made;
}

/// The same for all instantiations, or the reason why not.
Result<RewrittenKernel> rewrite_source(const CommunicationGraph& graph,
                                       const SourceKernel& source,
                                       std::string_view text,
                                       const design::KernelDesign& design,
                                       const HelperNames& names) {
  const auto rewritten = [&](const Function& function) {
    return rewrite_kernel(KernelBody(graph.syntax, function),
                          source.all_launches ? source.launches : std::vector<LaunchText>{},
                          source.buffers, text, design, names);
  };
  auto first = rewritten(*source.functions.front());
  for (std::size_t i = 1; i < source.functions.size(); ++i) {
    auto other = rewritten(*source.functions[i]);
    // Any divisor is right: the loops go on until all is done.
    first.grid_divisor = other.grid_divisor = std::min(first.grid_divisor, other.grid_divisor);
    if (!(other == first)) {
      return no(fmt::format("{}{} would be another kernel than {}{}", source.functions[i]->name,
                            source.functions[i]->arguments, source.functions[0]->name,
                            source.functions[0]->arguments));
    }
  }
  return first;
}

}  // namespace

LaunchFacts find_launch_facts(const CommunicationGraph& graph, std::string_view text) {
  constexpr int kWidest = 16;
  LaunchFacts facts;
  const auto add = [&](auto design::KernelDesign::* dimension, auto value) {
    auto more = facts.together;
    more.*dimension = value;
    if (rewrite_kernels(graph, text, more)) facts.together = more;
  };
  add(&design::KernelDesign::vector_bytes, kWidest);
  add(&design::KernelDesign::rounds, 1);
  // Shuffles before launches: a tree in shared memory has room for some threads only.
  add(&design::KernelDesign::shuffles, true);
  add(&design::KernelDesign::fast_math, true);
  add(&design::KernelDesign::read_only, true);
  add(&design::KernelDesign::fitted, true);
  for (const auto& [begin, source] : find_kernels(graph, text)) {
    for (const auto* function : source.functions) {
      const KernelBody kernel(graph.syntax, *function);
      for (const auto& found : find_element_loops(kernel, text).loops) {
        if (!found.accesses || source.launches.empty() || !source.launches[0].threads) continue;
        const int bytes = widest_element(*found.accesses);
        facts.elements = std::max(facts.elements, kWidest / bytes);
        if (facts.threads == 0) facts.threads = static_cast<int>(*source.launches[0].threads);
      }
    }
  }
  return facts;
}

Result<std::string> rewrite_kernels(const CommunicationGraph& graph,
                                    std::string_view text,
                                    const design::KernelDesign& design) {
  const auto kernels = find_kernels(graph, text);
  if (kernels.empty()) return no("the program has no kernel");
  const auto names = helper_names(graph, kernels, text);
  std::map<const SourceKernel*, RewrittenKernel> rewritten;
  std::set<std::string> done;
  std::map<std::string, std::string> refused;
  std::size_t first = text.size();
  for (const auto& [begin, source] : kernels) {
    auto kernel = rewrite_source(graph, source, text, design, names);
    if (!kernel) {
      for (const auto& dimension : dimensions(design))
        refused[dimension] = kernel.error().message();
      continue;
    }
    done.insert(kernel->done.begin(), kernel->done.end());
    refused.insert(kernel->refused.begin(), kernel->refused.end());
    if (kernel->done.empty()) continue;
    first = std::min(first, above(text, source.functions.front()->span.begin));
    rewritten.emplace(&source, *std::move(kernel));
  }
  const auto functions =
      design.fast_math ? approximate_functions(graph, text) : std::vector<Replacement>{};
  if (!functions.empty()) done.insert("fast math");
  for (const auto& dimension : dimensions(design)) {
    if (!done.contains(dimension)) return no(fmt::format("{}: {}", dimension, refused[dimension]));
  }
  Edits edits(text);
  edits.insert(first, helpers_for(rewritten, names));
  for (const auto& [begin, end, replacement] : functions)
    edits.replace(begin, end, replacement);
  for (const auto& [source, kernel] : rewritten) {
    const auto& span = source->functions.front()->span;
    edits.replace(span.begin, span.end, kernel.text);
    if (!kernel.whole.empty()) make_template(text, span.begin, kernel.whole, edits);
    for (const auto& launch : source->launches)
      change_launch(launch, kernel, names.fits, text, edits);
  }
  return with_short_lines(edits.apply(), text);
}

}  // namespace cuco::expert::kernels

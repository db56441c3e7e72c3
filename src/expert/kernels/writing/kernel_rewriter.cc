// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/writing/kernel_rewriter.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "expert/kernels/reading/stores.h"
#include "expert/kernels/reading/visit.h"
#include "expert/kernels/writing/fast_math.h"
#include "program/tokens.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Expression;
using analysis::ExpressionKind;
using analysis::Statement;
using analysis::StatementKind;

constexpr int kWarp = 32;
constexpr int kMostThreads = 1024;
const Polynomial kBlock{{Product{"blockDim.x"}, 1}};

class Rewriter {
 public:
  Rewriter(const KernelBody& kernel,
           const std::vector<LaunchText>& launches,
           const LaunchBuffers& buffers,
           std::string_view text,
           const design::KernelDesign& design,
           const HelperNames& names,
           bool may_be_template)
      : kernel_(kernel),
        launches_(launches),
        text_(text),
        design_(design),
        names_(names),
        may_be_template_(may_be_template),
        reading_{kernel,
                 launches,
                 text,
                 find_facts(kernel, text),
                 find_element_loops(kernel, text),
                 find_tree_reductions(kernel)},
        memory_(kernel, buffers),
        groups_(find_row_groups(kernel, reading_.loops, memory_)),
        loops_(reading_.loops.loops),
        why_(reading_.loops.why_not),
        fresh_(text.substr(kernel.function().span.begin,
                           kernel.function().span.end - kernel.function().span.begin)) {}

  RewrittenKernel rewrite() {
    if (design_.shuffles) decide("shuffles", use_shuffles());
    if (design_.fast_math) decide("fast math", approximate());
    if (design_.fitted) decide("fitted launches", fit_rows());
    if (design_.blocks_per_row > 1) decide("blocks a row", share_rows());
    if (design_.vector_bytes > 0) decide("vectors", use_vectors());
    if (design_.rounds > 0) decide("rounds", keep_rounds());
    if (design_.vector_bytes == 0 || !made_.vectors) emit_loops_as_they_are();
    if (design_.fitted && made_.fitted.fit == Fit::None) decide("fitted launches", fit_blocks());
    if (design_.threads > 0) decide("threads", resize_blocks());
    if (design_.rows_per_block > 1) decide("rows a block", join_rows());
    if (design_.read_only) decide("read-only loads", restrict_pointers());
    finish();
    return std::move(made_);
  }

 private:
  void decide(const std::string& dimension, const Result<void>& outcome) {
    if (outcome) {
      made_.done.insert(dimension);
      made_.refused.erase(dimension);
    } else {
      made_.refused[dimension] = outcome.error().message();
    }
  }

  static Error no(std::string reason) { return {ErrorKind::InvalidInput, std::move(reason)}; }

  // --- Loops -------------------------------------------------------------------------------------

  [[nodiscard]] Sharing sharing_of(const ElementLoop& loop) const {
    const bool shared = made_.blocks_per_row > 1 || made_.fitted.fit == Fit::Rows;
    if (shared && loop.threads == kBlock)
      return {"blockIdx.y * blockDim.x + threadIdx.x", "gridDim.y * blockDim.x"};
    return {loop.start->text, loop.step};
  }

  void replace_loop(const ElementLoop& loop, const std::string& code) {
    auto begin = loop.replaced.begin;
    const auto column = indentation(text_, begin);
    auto placed = at_column(inverses_[&loop] + code, column);
    inverses_.erase(&loop);
    // A pragma in front speaks of the loop that is no longer the next statement.
    const auto line = text_.rfind('\n', begin) + 1;
    const auto above = line < 2 ? 0 : text_.rfind('\n', line - 2) + 1;
    if (trim(text_.substr(above, line - above)).starts_with("#pragma")) {
      begin = above;
    } else {
      placed = placed.substr(column);
    }
    if (loop.replaced.end > loop.statement->span.end) placed += '\n';
    replacements_.push_back({begin, loop.replaced.end, std::move(placed)});
  }

  Result<void> use_vectors() {
    int done = 0;
    if (design_.rounds > 0) {
      for (const auto& group : groups_.groups)
        done += emit_group(group) ? 1 : 0;
      return finish_vectors(done);
    }
    for (const auto& found : loops_) {
      if (!found.accesses) continue;
      const int widest = widest_element(*found.accesses);
      if (widest * 2 > design_.vector_bytes) {
        why_ = fmt::format("an element has {} bytes already", widest);
        emit_as_it_is(found.loop);
        continue;
      }
      const auto length =
          name_of_length(vector_length(found.accesses->accesses, design_.vector_bytes));
      const VectorLoop wanted{&found.loop, &*found.accesses, sharing_of(found.loop), results_};
      replace_loop(found.loop,
                   emit_vector_loop(wanted, kernel_, text_, length, names_.vectors, fresh_));
      if (found.loop.form == LoopForm::Guarded && loops_.size() == 1 &&
          reading_.facts.builtins.contains("blockIdx.x"))
        made_.grid_divisor = design_.vector_bytes / widest;
      before_.strided.insert(&found.loop);
      ++done;
    }
    return finish_vectors(done);
  }

  Result<void> finish_vectors(int done) {
    made_.vectors = done > 0;
    if (done == 0) return no(why_.empty() ? "no loop over elements" : why_);
    for (const auto& found : loops_) {
      if (!found.accesses) emit_as_it_is(found.loop);
    }
    return {};
  }

  // --- Rows in registers -------------------------------------------------------------------------

  bool emit_group(const RowGroup& group) {
    int widest = 0;
    std::vector<VectorAccess> all;
    for (const auto& loop : group.loops) {
      const auto& accesses = loop.found->accesses->accesses;
      all.insert(all.end(), accesses.begin(), accesses.end());
      widest = std::max(widest, widest_element(*loop.found->accesses));
    }
    if (widest * 2 > design_.vector_bytes) {
      why_ = fmt::format("an element has {} bytes already", widest);
      for (const auto& loop : group.loops)
        emit_as_it_is(loop.found->loop);
      return false;
    }
    if (rounds_.empty()) rounds_ = fresh_.make("kRounds");
    const auto when = who_knows_whole();
    if (when == Whole::Argument && made_.whole.empty()) made_.whole = fresh_.make("kWhole");
    const auto whole = when == Whole::Tested ? fresh_.make("whole") : made_.whole;
    const RowLoopNames names{name_of_length(vector_length(all, design_.vector_bytes)), rounds_,
                             when, whole, names_.vectors};
    const auto& first = group.loops.front().found->loop;
    auto made = emit_row_loops(group, sharing_of(first), results_, kernel_, text_, names, fresh_);
    if (group.at < first.statement->span.begin) {
      insert(group.at, made.before);
    } else {
      made.loops.front() = made.before + made.loops.front();
    }
    for (std::size_t i = 0; i < made.loops.size(); ++i) {
      replace_loop(group.loops[i].found->loop, made.loops[i]);
      before_.strided.insert(&group.loops[i].found->loop);
    }
    if (first.form == LoopForm::Guarded && loops_.size() == 1 &&
        reading_.facts.builtins.contains("blockIdx.x"))
      made_.grid_divisor = design_.vector_bytes / widest * design_.rounds;
    return true;
  }

  /// The host counts the rounds of the first loop: of the others, too, where they are as long and
  /// their vectors have as many elements.
  [[nodiscard]] Whole who_knows_whole() const {
    const bool rows = made_.fitted.fit == Fit::Rows;
    if (!rows && !(design_.fitted && may_be_template_)) return Whole::Tested;
    std::set<std::string> lengths;
    std::set<int> widest;
    std::set<std::string> limits;
    for (const auto& found : loops_) {
      if (!found.accesses) continue;
      lengths.insert(vector_length(found.accesses->accesses, design_.vector_bytes));
      widest.insert(widest_element(*found.accesses));
      limits.insert(to_text(polynomial(kernel_, *found.loop.limit)));
    }
    const bool alike = loops_.front().accesses && lengths.size() == 1 && widest.size() == 1 &&
                       limits.size() == 1 && lengths.begin()->find('?') == std::string::npos;
    if (!alike) return Whole::Tested;
    return rows ? Whole::Always : Whole::Argument;
  }

  /// Lines of their own in front of a statement.
  void insert(std::size_t at, const std::string& code) {
    const auto column = indentation(text_, at);
    const auto placed = at_column(code, column).substr(column);
    replacements_.push_back({at, at, placed + "\n" + std::string(column, ' ')});
  }

  Result<void> keep_rounds() const {
    if (design_.vector_bytes == 0) return no("only vectors are kept in registers");
    if (!made_.vectors) return no(why_.empty() ? "no loop over elements" : why_);
    const bool one_by_one = groups_.groups.size() > 1 && !groups_.why_apart.empty();
    if (one_by_one && design_.rounds == 1) return no(groups_.why_apart);
    return {};
  }

  /// Other threads may share a loop that stays as it is otherwise.
  void emit_as_it_is(const ElementLoop& loop) {
    if (made_.blocks_per_row <= 1 && made_.fitted.fit != Fit::Rows) return;
    const VectorLoop wanted{&loop, nullptr, sharing_of(loop), results_};
    replace_loop(loop, emit_shared_loop(wanted, kernel_, text_, fresh_));
  }

  void emit_loops_as_they_are() {
    for (const auto& found : loops_)
      emit_as_it_is(found.loop);
  }

  /// Declared once at the top of the kernel.
  std::string name_of_length(const std::string& expression) {
    const auto known = lengths_.find(expression);
    if (known != lengths_.end()) return known->second;
    return lengths_[expression] = fresh_.make("kVector");
  }

  // --- Reductions --------------------------------------------------------------------------------

  Result<void> use_shuffles() {
    if (reading_.trees.empty()) return no("no reduction by a tree in shared memory");
    for (const auto& launch : launches_) {
      if (!launch.flat || !launch.threads || *launch.threads % kWarp != 0)
        return no(fmt::format("blocks of '{}' threads may not be whole warps", launch.block_text));
    }
    for (const auto& tree : reading_.trees) {
      const auto& function = names_.reducers.at(tree.operation);
      made_.reducers[tree.operation] = function;
      for (auto& replacement : reduce_by_shuffles(kernel_, tree, text_, function, fresh_)) {
        replacements_.push_back(replacement);
        results_.push_back(std::move(replacement));
      }
    }
    before_.shuffles = true;
    return {};
  }

  // --- Arithmetic and pointers -------------------------------------------------------------------

  Result<void> approximate() {
    std::set<const Expression*> gone;
    std::vector<Replacement> made;
    for (const auto& found : loops_) {
      auto inverses = hoist_divisors(kernel_, found.loop, text_, results_, fresh_);
      if (inverses.divisions.empty()) continue;
      inverses_[&found.loop] = std::move(inverses.declarations);
      gone.merge(inverses.divisions);
      std::ranges::move(inverses.replacements, std::back_inserter(made));
    }
    std::ranges::move(use_fast_math(kernel_.body(), text_, gone), std::back_inserter(made));
    if (made.empty()) return no("nothing in the kernel has a fast version");
    replacements_.insert(replacements_.end(), made.begin(), made.end());
    std::ranges::move(made, std::back_inserter(results_));
    return {};
  }

  /// The compiler may then load what nobody stores to past the coherent path, and earlier.
  Result<void> restrict_pointers() {
    CUCO_TRY_ASSIGN(const auto stores, find_stores(kernel_, kernel_.body()));
    std::set<int> stored;
    for (const auto* pointer : stores) {
      const int parameter = memory_.parameter_of(*pointer);
      if (parameter < 0 && !memory_.is_own(*pointer))
        return no(fmt::format("'{}' may lead to any memory", pointer->text));
      stored.insert(parameter);
    }
    std::string why = "no pointer of the kernel is without __restrict__";
    int done = 0;
    const auto& parameters = kernel_.function().parameters;
    for (int i = 0; i < static_cast<int>(parameters.size()); ++i) {
      const auto& variable = kernel_.variable(parameters[static_cast<std::size_t>(i)]);
      if (!variable.canonical.ends_with("*") || variable.span.elsewhere ||
          variable.type.find("__restrict") != std::string::npos)
        continue;
      const auto other = other_for_same_memory(i, stored);
      const auto at = variable.span.end - variable.name.size();
      const bool plain = text_.substr(at, variable.name.size()) == variable.name;
      if (other.empty() && plain) {
        replacements_.push_back({at, at, "__restrict__ "});
        ++done;
      } else {
        why = fmt::format("'{}' and '{}' may be the same memory", variable.name, other);
      }
    }
    return done > 0 ? Result<void>() : no(why);
  }

  /// A pointer that may lead where parameter `i` leads, one of the two being stored through.
  [[nodiscard]] std::string other_for_same_memory(int i, const std::set<int>& stored) const {
    const auto& parameters = kernel_.function().parameters;
    for (int j = 0; j < static_cast<int>(parameters.size()); ++j) {
      const auto& other = kernel_.variable(parameters[static_cast<std::size_t>(j)]);
      const bool matters =
          other.canonical.ends_with("*") && j != i && (stored.contains(i) || stored.contains(j));
      if (matters && !memory_.apart(i, j)) return other.name;
    }
    return "";
  }

  // --- Geometry ----------------------------------------------------------------------------------

  static constexpr int kUsualBlock = 256;

  /// Rows that no block needs for itself.
  Result<void> fit_rows() {
    if (design_.blocks_per_row > 1 || design_.rows_per_block > 1)
      return no("the design gives blocks and rows itself");
    CUCO_TRY(check_joined_rows(reading_));
    CUCO_TRY_ASSIGN(auto guards, split_rows(reading_));
    CUCO_TRY(set_fit(Fit::Rows, design_.threads > 0 ? design_.threads : kUsualBlock));
    std::ranges::move(guards, std::back_inserter(replacements_));
    return {};
  }

  /// Only the number of threads, once it is known what the loops have become.
  Result<void> fit_blocks() {
    if (design_.blocks_per_row > 1 || design_.rows_per_block > 1)
      return no("the design gives blocks and rows itself");
    const auto not_one_blocks = [](const FoundLoop& found) { return found.loop.threads != kBlock; };
    if (loops_.empty() || std::ranges::any_of(loops_, not_one_blocks))
      return no("its loops are not shared by the threads of one block");
    return set_fit(Fit::Block, design_.threads > 0 ? design_.threads : kMostThreads);
  }

  Result<void> set_fit(Fit fit, int most) {
    if (most % kWarp != 0) return no(fmt::format("{} threads are not whole warps", most));
    CUCO_TRY(check_block_size(reading_, most, before_));
    FittedLaunch fitted{.fit = fit, .most = most};
    CUCO_TRY_ASSIGN(fitted.length, in_arguments(kernel_, *loops_.front().loop.limit));
    CUCO_TRY_ASSIGN(fitted.each, elements_a_thread());
    for (const auto& launch : launches_) {
      CUCO_TRY(check_repeatable(launch, fitted.length));
      CUCO_TRY(check_repeatable(launch, fitted.each));
    }
    made_.fitted = std::move(fitted);
    return {};
  }

  /// That a thread takes at once: one for each round, or a vector.
  Result<std::string> elements_a_thread() const {
    const auto& first = loops_.front();
    if (!first.accesses || design_.vector_bytes == 0) return std::string("1");
    const int rounds = std::max(1, design_.rounds);
    const int widest = widest_element(*first.accesses);
    if (kernel_.function().arguments.empty())
      return std::to_string(rounds * std::max(1, design_.vector_bytes / widest));
    for (const auto& access : first.accesses->accesses) {
      const int parameter = memory_.parameter_of(*access.array);
      if (access.element_bytes != widest || parameter < 0) continue;
      return fmt::format("{} / sizeof(*@{}@)", rounds * design_.vector_bytes, parameter);
    }
    return no("the host does not know the type of the elements");
  }

  Result<void> share_rows() {
    CUCO_TRY_ASSIGN(auto guards, split_rows(reading_));
    made_.blocks_per_row = design_.blocks_per_row;
    std::ranges::move(guards, std::back_inserter(replacements_));
    return {};
  }

  Result<void> join_rows() {
    CUCO_TRY(check_joined_rows(reading_));
    if (made_.blocks_per_row > 1) return no("rows are split already");
    if (made_.grid_divisor > 0) return no("the grid is divided already");
    for (const auto& launch : launches_) {
      const auto threads =
          made_.threads > 0 ? made_.threads : launch.threads.value_or(kMostThreads);
      if (threads * design_.rows_per_block > kMostThreads)
        return no("its blocks would have more than 1024 threads");
    }
    made_.rows_per_block = design_.rows_per_block;
    return {};
  }

  Result<void> resize_blocks() {
    if (made_.fitted.fit != Fit::None) return {};  // The most that a block has.
    CUCO_TRY(check_block_size(reading_, design_.threads, before_));
    made_.threads = design_.threads;
    return {};
  }

  // --- Text --------------------------------------------------------------------------------------

  void finish() {
    const auto& span = kernel_.function().span;
    const auto body = kernel_.body().span.begin + 1;
    std::string top;
    for (const auto& [expression, name] : lengths_)
      top += fmt::format("\n  constexpr int {} = {};", name, expression);
    if (!rounds_.empty()) {
      top += fmt::format("\n  constexpr int {} = {};  // whose vectors are in registers at once",
                         rounds_, design_.rounds);
    }
    for (const auto& [loop, declarations] : inverses_) {
      if (!declarations.empty()) insert(loop->replaced.begin, declarations);
    }
    auto replacements = std::move(replacements_);
    if (made_.rows_per_block > 1 || made_.fitted.fit == Fit::Rows) {
      const auto row = fresh_.make("block");
      const auto blocks = fresh_.make("blocks");
      const bool fitted = made_.fitted.fit == Fit::Rows;
      top = fmt::format(
                "\n  const unsigned {0} = {2} * blockDim.y + threadIdx.y;\n"
                "  if ({0} >= {1}) return;",
                row, blocks, fitted ? "(blockIdx.z * gridDim.y + blockIdx.y)" : "blockIdx.x") +
            top;
      rename_blocks(row, replacements);
      if (fitted) share_along_x(replacements);
      const auto close = text_.rfind(')', body);
      replacements.push_back({close, close, fmt::format(", unsigned {}", blocks)});
    }
    if (!top.empty()) replacements.push_back({body, body, top});
    made_.text = render(text_, span.begin, span.end, std::move(replacements));
  }

  static void rename(std::string_view old,
                     std::string_view name,
                     std::vector<Replacement>& replacements) {
    for (auto& replacement : replacements) {
      for (auto at = replacement.text.find(old); at != std::string::npos;
           at = replacement.text.find(old, at + name.size()))
        replacement.text.replace(at, old.size(), name);
    }
  }

  /// Blocks that start one after the other should read on where the one before ends.
  static void share_along_x(std::vector<Replacement>& replacements) {
    rename("blockIdx.y", "blockIdx.x", replacements);
    rename("gridDim.y", "gridDim.x", replacements);
  }

  /// Every blockIdx.x of the kernel, also in what was just written.
  void rename_blocks(const std::string& row, std::vector<Replacement>& replacements) const {
    constexpr std::string_view kOld = "blockIdx.x";
    rename(kOld, row, replacements);
    for_each_expression(kernel_.body(), [&](const Expression& expression) {
      if (builtin_name(expression) != kOld) return;
      // A cast in front of it stays.
      const auto& span = expression.span;
      const auto at = text_.substr(span.begin, span.end - span.begin).find(kOld);
      if (at == std::string_view::npos) return;
      replacements.push_back({span.begin + at, span.begin + at + kOld.size(), row});
    });
  }

  const KernelBody& kernel_;
  const std::vector<LaunchText>& launches_;
  std::string_view text_;
  const design::KernelDesign& design_;
  const HelperNames& names_;
  bool may_be_template_;
  KernelReading reading_;
  DistinctMemory memory_;
  RowGroups groups_;
  const std::vector<FoundLoop>& loops_;
  std::string why_;
  FreshNames fresh_;
  std::vector<Replacement> replacements_;
  std::vector<Replacement> results_;  ///< Of reductions, which loops read.
  std::map<std::string, std::string> lengths_;
  std::string rounds_;                                  ///< The name of their number.
  std::map<const ElementLoop*, std::string> inverses_;  ///< Declarations that belong in front.
  MovesBefore before_;
  RewrittenKernel made_;
};

/// Whether the kernel may have one more template parameter: nothing but the launches names it, and
/// each of them is a statement.
bool can_be_template(const KernelBody& kernel,
                     const std::vector<LaunchText>& launches,
                     std::string_view text) {
  const auto& function = kernel.function();
  const auto names = program::identifiers(text);
  const auto named = static_cast<std::size_t>(
      std::ranges::count(names, std::string_view(function.name), &program::Identifier::name));
  const auto is_statement = [](const LaunchText& launch) { return launch.statement_end > 0; };
  const auto before = trim(text.substr(0, function.span.begin));
  return named == 1 + launches.size() && std::ranges::all_of(launches, is_statement) &&
         !before.ends_with("\"C\"");
}

}  // namespace

RewrittenKernel rewrite_kernel(const KernelBody& kernel,
                               const std::vector<LaunchText>& launches,
                               const LaunchBuffers& buffers,
                               std::string_view text,
                               const design::KernelDesign& design,
                               const HelperNames& names) {
  const auto rewritten = [&](bool may_be_template) {
    return Rewriter(kernel, launches, buffers, text, design, names, may_be_template).rewrite();
  };
  const bool splits = can_be_template(kernel, launches, text);
  auto made = rewritten(splits);
  // Its launches are not fitted after all: nobody would give it the argument.
  if (!made.whole.empty() && made.fitted.fit != Fit::Block) made = rewritten(false);
  return made;
}

}  // namespace cuco::expert::kernels

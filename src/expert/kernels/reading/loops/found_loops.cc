// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/reading/loops/found_loops.h"

#include "expert/kernels/reading/loops/loop_context.h"

namespace cuco::expert::kernels {
namespace {

using analysis::Statement;
using analysis::StatementKind;

class Finder {
 public:
  Finder(const KernelBody& kernel, std::string_view text) : kernel_(kernel), text_(text) {}

  FoundLoops find() {
    look_into(kernel_.body());
    return std::move(found_);
  }

 private:
  void look_into(const Statement& statement) {
    if (statement.kind != StatementKind::Block) {
      for (const auto& part : statement.statements)
        look_into(part);
      return;
    }
    for (std::size_t i = 0; i < statement.statements.size(); ++i) {
      if (look_at(statement, i)) return;
    }
  }

  /// Whether the loop is all that is left of the block.
  bool look_at(const Statement& block, std::size_t position) {
    const auto& statement = block.statements[position];
    auto loop = read_element_loop(kernel_, block, position, text_);
    if (!loop) {
      if (statement.kind == StatementKind::Loop && found_.why_not.empty())
        found_.why_not = loop.error().message();
      look_into(statement);
      return false;
    }
    auto accesses = find_accesses(kernel_, *loop, text_);
    if (accesses) {
      if (const auto fits = check_context(kernel_, *loop, *accesses); !fits)
        accesses = fits.error();
    }
    if (!accesses) {
      found_.why_not = accesses.error().message();
      // A loop over rows may hold the loop over a row's elements.
      const auto before = found_.loops.size();
      look_into(statement);
      if (found_.loops.size() > before) return false;
    }
    const bool rest_of_block = loop->replaced.end > statement.span.end;
    found_.loops.push_back({*std::move(loop), std::move(accesses)});
    return rest_of_block;
  }

  const KernelBody& kernel_;
  std::string_view text_;
  FoundLoops found_;
};

}  // namespace

FoundLoops find_element_loops(const KernelBody& kernel, std::string_view text) {
  return Finder(kernel, text).find();
}

}  // namespace cuco::expert::kernels

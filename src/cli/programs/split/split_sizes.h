// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the sizes in a program's main() depend on, as formulas of a workload.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/syntax.h"
#include "base/result.h"
#include "cli/programs/split/split_plan.h"

namespace cuco::cli {

class SplitSizes {
 public:
  /// `ranks`: the variable that holds their number; may be empty.
  SplitSizes(const analysis::Syntax& syntax,
             const analysis::Function& main,
             std::string_view text,
             std::string ranks);

  /// The elements of an allocation of `bytes`, as workload.toml writes it; parameters that it meets
  /// are remembered.
  [[nodiscard]] Result<std::string> elements(const std::string& buffer, const std::string& bytes);
  [[nodiscard]] const std::vector<SplitParameter>& parameters() const { return parameters_; }

 private:
  [[nodiscard]] Result<std::string> formula(std::string_view expression, int depth);
  [[nodiscard]] Result<std::string> value_of(const std::string& name, int depth);

  struct Known {
    std::string type, value;
    bool is_global = false;
  };
  std::string ranks_;
  std::map<std::string, Known, std::less<>> known_;  ///< Variables with what they begin as.
  std::vector<SplitParameter> parameters_;
};

/// "kRows * kColumns" of "sizeof(float) * kRows * kColumns".
[[nodiscard]] std::string without_sizeof(std::string_view bytes);

}  // namespace cuco::cli

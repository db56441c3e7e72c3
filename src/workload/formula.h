// SPDX-License-Identifier: Apache-2.0
/// \file
/// The small arithmetic of workload.toml: sizes and demands in terms of the shape.
///
///   choice  := sum [ "?" choice ":" choice ]      a condition is true when it is not 0
///   sum     := product { ("+" | "-") product }
///   product := factor { ("*" | "/") factor }
///   factor  := number | name | "(" choice ")" | "-" factor | "min" "(" choice "," choice ")"
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cuco::workload {

using Variables = std::map<std::string, double, std::less<>>;

/// Fails on unknown names (with the nearest known one), bad syntax and results that are not finite.
[[nodiscard]] Result<double> evaluate(std::string_view expression, const Variables& variables);

/// "bf16 ? bf16 : fp32": a condition, then words; or just a word.
[[nodiscard]] Result<std::string> choose(std::string_view expression, const Variables& variables);

}  // namespace cuco::workload

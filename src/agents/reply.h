// SPDX-License-Identifier: Apache-2.0
/// \file
/// A model's answer: its directive, its reason, and the regions it replaces. See prompts/system.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "design/directive.h"
#include "program/regions.h"

namespace cuco::agents {

struct ParsedReply {
  design::Directive directive;
  std::string because;
  std::vector<program::Replacement> regions;
  std::optional<std::string> whole;  ///< The whole program, when the answer gives that instead.
};

/// Reads what people and models write: any case, Markdown around the labels, text before and
/// between. The error says what is missing.
[[nodiscard]] Result<ParsedReply> parse_reply(std::string_view text);

/// The program that the reply makes of `parent`. Refuses edits of frozen bytes, of `seed`'s above
/// all.
[[nodiscard]] Result<std::string> apply_reply(const ParsedReply& reply,
                                              std::string_view parent,
                                              std::string_view seed);

}  // namespace cuco::agents

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
#include "program/patch.h"
#include "program/regions.h"

namespace cuco::agents {

struct ParsedReply {
  design::Directive directive;
  std::string because;
  std::vector<program::Replacement> regions;
  std::vector<program::Hunk> edits;  ///< Of the parent's text, after the regions were replaced.
  std::optional<std::string> whole;  ///< The whole program, when the answer gives that instead.
};

/// A design as a model states it: "none" is the corner of the space where nothing is communicated,
/// and the only one for a program that does not communicate.
[[nodiscard]] Result<design::Directive> parse_stated_directive(std::string_view text,
                                                               bool communicates);

/// Reads what people and models write: any case, Markdown around the labels, text before and
/// between, thoughts before it, a fence around all of it. The error says what is missing, or what
/// is there twice: an answer is one program. A program that does not communicate needs no
/// directive, and of one that is given only what it says of kernels counts.
[[nodiscard]] Result<ParsedReply> parse_reply(std::string_view text, bool communicates = true);

/// The program that the reply makes of `parent`. Refuses edits of frozen bytes, of `seed`'s above
/// all, programs that read otherwise than they are compiled, and huge ones.
[[nodiscard]] Result<std::string> apply_reply(const ParsedReply& reply,
                                              std::string_view parent,
                                              std::string_view seed);

}  // namespace cuco::agents

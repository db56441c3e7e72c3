// SPDX-License-Identifier: Apache-2.0
#include "agents/reply.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"
#include "program/tokens.h"

namespace cuco::agents {
namespace {

Error unusable(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (auto& c : result)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// "**DIRECTIVE:** x", "### Directive: x" and "DIRECTIVE x" all give "x".
std::optional<std::string_view> labelled(std::string_view line, std::string_view label) {
  constexpr std::string_view kMarks = "*#=->` \t";
  const auto begin = line.find_first_not_of(kMarks);
  if (begin == std::string_view::npos) return std::nullopt;
  auto rest = line.substr(begin);
  if (rest.size() <= label.size() || lower(rest.substr(0, label.size())) != label) {
    return std::nullopt;
  }
  rest.remove_prefix(label.size());
  const auto value = rest.find_first_not_of(":*` \t");
  // A word that merely begins with the label is none.
  if (value == 0) return std::nullopt;
  if (value == std::string_view::npos) return std::string_view();
  rest = trim(rest.substr(value));
  while (!rest.empty() && (rest.back() == '*' || rest.back() == '`'))
    rest.remove_suffix(1);
  return trim(rest);
}

bool is_fence(std::string_view line) {
  return trim(line).starts_with("```");
}

/// The lines of a fenced block that opens at `at`; moves `at` behind it. An unclosed block ends
/// with the text: answers are cut off when they get too long.
Result<std::string> fenced(const std::vector<std::string_view>& lines, std::size_t& at) {
  std::string body;
  for (++at; at < lines.size(); ++at) {
    if (is_fence(lines[at])) {
      ++at;
      return body;
    }
    body += lines[at];
    body += '\n';
  }
  return unusable("the last code block is not closed: the answer was cut off");
}

/// Whether the first line of the fenced block that opens at `at` is the begin of an edit.
bool opens_edits(const std::vector<std::string_view>& lines, std::size_t at) {
  return at + 1 < lines.size() && program::opens_hunk(lines[at + 1]);
}

/// Models sometimes return the whole file: its markers show that it is one, or its main().
bool is_whole(const std::string& body) {
  return body.find("cuco: evolve begin") != std::string::npos ||
         body.find("EVOLVE-BLOCK-START") != std::string::npos ||
         body.find("int main(") != std::string::npos;
}

/// A name of NCCL's device API by which kernels reach peers, if the program uses one.
std::optional<std::string> device_communication(std::string_view program) {
  for (const std::string& token : program::tokens(program)) {
    const bool reaches = token.starts_with("ncclGin") || token.starts_with("ncclGetLsa") ||
                         token.starts_with("ncclGetPeerPointer") ||
                         token.starts_with("ncclLsaBarrier") || token.starts_with("ncclBarrier");
    if (reaches) return token;
  }
  return std::nullopt;
}

}  // namespace

Result<design::Directive> parse_stated_directive(std::string_view text, bool communicates) {
  const bool none = lower(text) == "none";
  if (communicates && none) {
    return unusable(
        "the directive 'none' is for programs that do not communicate: state the five dimensions");
  }
  if (communicates) return design::parse_directive(text);
  design::Directive made;
  if (const auto parsed = design::parse_directive(text)) made.kernel = parsed->kernel;
  return made;
}

Result<ParsedReply> parse_reply(std::string_view text, bool communicates) {
  const auto lines = split(text, '\n');
  ParsedReply reply;
  std::optional<design::Directive> directive;
  std::optional<std::string> region;
  bool among_edits = false;  // In a fenced block of them: the next fence closes it.
  for (std::size_t at = 0; at < lines.size();) {
    const auto line = lines[at];
    if (program::opens_hunk(line)) {
      CUCO_TRY_ASSIGN(program::Hunk edit, program::read_hunk(lines, &at));
      reply.edits.push_back(std::move(edit));
      continue;
    }
    if (is_fence(line) && (among_edits || opens_edits(lines, at))) {
      among_edits = !among_edits;
      region.reset();
      ++at;
      continue;
    }
    if (is_fence(line)) {
      CUCO_TRY_ASSIGN(std::string body, fenced(lines, at));
      if (region) {
        reply.regions.push_back({*std::move(region), std::move(body)});
        region.reset();
      } else if (is_whole(body)) {
        reply.whole = std::move(body);
      }
      continue;
    }
    if (const auto value = labelled(line, "directive"); value && !directive) {
      CUCO_TRY_ASSIGN(directive, parse_stated_directive(*value, communicates));
    } else if (const auto why = labelled(line, "because"); why && reply.because.empty()) {
      reply.because = std::string(*why);
    } else if (const auto name = labelled(line, "region"); name && !name->empty()) {
      region = std::string(*name);
    }
    ++at;
  }
  if (!directive && communicates) return unusable("the answer states no directive (DIRECTIVE: …)");
  reply.directive = directive.value_or(design::Directive{});
  if (reply.regions.empty() && reply.edits.empty() && !reply.whole) {
    return unusable("the answer replaces no region (REGION name, then a code block)");
  }
  return reply;
}

Result<std::string> apply_reply(const ParsedReply& reply,
                                std::string_view parent,
                                std::string_view seed) {
  std::string edited;
  if (reply.whole) {
    edited = *reply.whole;
  } else {
    CUCO_TRY_ASSIGN(edited, program::replace_regions(parent, reply.regions));
  }
  CUCO_TRY_ASSIGN(edited, program::apply_hunks(edited, reply.edits));
  // Against the seed, not the parent: frozen means as the user wrote it.
  CUCO_TRY_ASSIGN(const std::optional<program::FrozenEdit> edit,
                  program::find_frozen_edit(seed, edited));
  if (edit) {
    return unusable(fmt::format("frozen line {} was changed: '{}' instead of '{}'", edit->line,
                                edit->is, edit->was));
  }
  if (reply.directive.backend == design::Backend::Host) {
    if (const auto name = device_communication(edited))
      return unusable(fmt::format("the directive says host, and the program uses {}", *name));
  }
  return edited;
}

}  // namespace cuco::agents

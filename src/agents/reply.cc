// SPDX-License-Identifier: Apache-2.0
#include "agents/reply.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "agents/answer_text.h"
#include "base/text.h"
#include "program/tokens.h"

namespace cuco::agents {
namespace {

constexpr std::size_t kLongestReason = 1000;
/// It is shown to models again, whole.
constexpr std::size_t kLargestProgram = std::size_t{256} << 10U;

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
  constexpr std::string_view kWideColon = "\xEF\xBC\x9A";
  const auto begin = line.find_first_not_of(kMarks);
  if (begin == std::string_view::npos) return std::nullopt;
  auto rest = line.substr(begin);
  if (rest.size() <= label.size() || lower(rest.substr(0, label.size())) != label) {
    return std::nullopt;
  }
  rest.remove_prefix(label.size());
  const std::size_t before = rest.size();
  if (rest.starts_with(kWideColon)) rest.remove_prefix(kWideColon.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(":*` \t"), rest.size()));
  // A word that merely begins with the label is none.
  if (rest.size() == before) return std::nullopt;
  rest = trim(rest);
  while (!rest.empty() && (rest.back() == '*' || rest.back() == '`'))
    rest.remove_suffix(1);
  return trim(rest);
}

/// A line of three or more backticks or tildes.
struct Fence {
  char sign = '`';
  std::size_t length = 0;
  bool named = false;  ///< Words follow, as in "```cuda": it opens a block and closes none.
};

std::optional<Fence> fence(std::string_view line) {
  const auto text = trim(line);
  if (!text.starts_with("```") && !text.starts_with("~~~")) return std::nullopt;
  const auto length = std::min(text.find_first_not_of(text.front()), text.size());
  return Fence{text.front(), length, length < text.size()};
}

/// The lines of a fenced block that opens at `at`; moves `at` behind it. Where a block is not
/// closed, the answer was cut off when it got too long, or the next one begins inside of it.
Result<std::string> fenced(const std::vector<std::string_view>& lines, std::size_t& at) {
  const Fence open = *fence(lines[at]);
  std::string body;
  for (++at; at < lines.size(); ++at) {
    const auto other = fence(lines[at]);
    if (other && other->sign == open.sign && other->length >= open.length) {
      if (other->named) return unusable("a code block begins before the one above it is closed");
      ++at;
      return body;
    }
    body += lines[at];
    body += '\n';
  }
  return unusable("the last code block is not closed: the answer was cut off");
}

/// Whether the fence at `at` only wraps the answer: the answer's own words come next, or nothing.
bool wraps_answer(const std::vector<std::string_view>& lines, std::size_t at) {
  for (++at; at < lines.size(); ++at) {
    if (trim(lines[at]).empty()) continue;
    return labelled(lines[at], "directive") || labelled(lines[at], "because");
  }
  return true;
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

namespace {

/// Reads an answer line by line.
class ReplyReader {
 public:
  ReplyReader(std::string_view text, bool communicates)
      : lines_(split(text, '\n')), communicates_(communicates) {}

  Result<ParsedReply> read() {
    while (at_ < lines_.size())
      CUCO_TRY(read_line());
    if (!directive_ && communicates_) {
      if (wrong_directive_) return *wrong_directive_;
      return unusable("the answer states no directive (DIRECTIVE: …)");
    }
    reply_.directive = directive_.value_or(design::Directive{});
    if (!has_program())
      return unusable("the answer replaces no region (REGION name, then a code block)");
    return std::move(reply_);
  }

 private:
  Result<void> read_line() {
    const auto line = lines_[at_];
    if (program::opens_hunk(line)) {
      CUCO_TRY_ASSIGN(program::Hunk edit, program::read_hunk(lines_, &at_));
      reply_.edits.push_back(std::move(edit));
      return {};
    }
    if (fence(line)) return read_block();
    if (const auto value = labelled(line, "directive")) {
      CUCO_TRY(read_directive(*value));
    } else if (const auto why = labelled(line, "because"); why && reply_.because.empty()) {
      reply_.because = shortened(*why, kLongestReason);
    } else if (const auto name = labelled(line, "region"); name && !name->empty()) {
      region_ = std::string(*name);
    }
    ++at_;
    return {};
  }

  Result<void> read_block() {
    if (among_edits_ || opens_edits(lines_, at_)) {
      among_edits_ = !among_edits_;
      region_.reset();
      ++at_;
      return {};
    }
    if (!region_ && wraps_answer(lines_, at_)) {
      ++at_;
      return {};
    }
    CUCO_TRY_ASSIGN(std::string body, fenced(lines_, at_));
    if (region_) {
      const auto same = [&](const program::Replacement& other) { return other.region == *region_; };
      if (std::ranges::any_of(reply_.regions, same)) return several("region '" + *region_ + "'");
      reply_.regions.push_back({*std::move(region_), std::move(body)});
      region_.reset();
    } else if (is_whole(body)) {
      if (reply_.whole) return several("the whole program");
      reply_.whole = std::move(body);
    }
    return {};
  }

  /// Until a program comes, a design may be thought over; behind one it would be another program's.
  Result<void> read_directive(std::string_view value) {
    auto stated = parse_stated_directive(value, communicates_);
    if (!stated) {
      if (!wrong_directive_) wrong_directive_ = std::move(stated).error();
      return {};
    }
    if (has_program() && directive_ != *stated) return several("a directive");
    directive_ = *stated;
    return {};
  }

  [[nodiscard]] bool has_program() const {
    return !reply_.regions.empty() || !reply_.edits.empty() || reply_.whole;
  }

  static Error several(std::string_view what) {
    return unusable(
        fmt::format("the answer gives {} twice: it must be one program", shortened(what, 80)));
  }

  std::vector<std::string_view> lines_;
  bool communicates_;
  std::size_t at_ = 0;
  ParsedReply reply_;
  std::optional<design::Directive> directive_;
  std::optional<Error> wrong_directive_;
  std::optional<std::string> region_;  ///< Whose block comes next.
  bool among_edits_ = false;           ///< In a fenced block of them: the next fence closes it.
};

}  // namespace

Result<ParsedReply> parse_reply(std::string_view text, bool communicates) {
  CUCO_TRY_ASSIGN(const std::string plain, plain_answer(text));
  return ReplyReader(plain, communicates).read();
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
  const std::size_t most = std::max(kLargestProgram, 4 * seed.size());
  if (edited.size() > most) {
    return unusable(fmt::format("the program has {}, more than the {} that one may have",
                                human_bytes(static_cast<double>(edited.size())),
                                human_bytes(static_cast<double>(most))));
  }
  if (const auto line = line_that_reads_otherwise(edited)) {
    return unusable(fmt::format(
        "line {} has a character that changes the direction in which text is read", *line));
  }
  // Who reads such a program up to its first NUL reads another one than the compiler. A user's own
  // letters in another encoding are no model's fault.
  if (const auto line = line_of_bad_byte(edited); line && !line_of_bad_byte(seed))
    return unusable(fmt::format("line {} has a byte that is no text", *line));
  if (reply.directive.backend == design::Backend::Host) {
    if (const auto name = device_communication(edited))
      return unusable(fmt::format("the directive says host, and the program uses {}", *name));
  }
  return edited;
}

}  // namespace cuco::agents

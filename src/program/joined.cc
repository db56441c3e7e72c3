// SPDX-License-Identifier: Apache-2.0
#include "program/joined.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "program/tokens.h"

namespace cuco::program {
namespace {

constexpr int kDeepest = 64;
constexpr std::string_view kBlank = " \t";

/// A line of the preprocessor that says `word`, and what follows it there.
struct Directive {
  std::size_t begin = 0;  ///< Of its line.
  std::size_t end = 0;    ///< Of its line, the line end left out.
  std::string_view rest;
};

/// Those that are no comment's and no literal's.
std::vector<Directive> directives(std::string_view text, std::string_view word) {
  std::vector<Directive> found;
  for (const Identifier& identifier : identifiers(text)) {
    if (identifier.name != word) continue;
    const std::size_t hash = text.find_last_not_of(kBlank, identifier.begin - 1);
    if (identifier.begin == 0 || hash == std::string_view::npos || text[hash] != '#') continue;
    const std::size_t before = hash == 0 ? std::string_view::npos : text.rfind('\n', hash);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    if (text.substr(begin, hash - begin).find_first_not_of(kBlank) != std::string_view::npos)
      continue;
    const std::size_t end = std::min(text.find('\n', hash), text.size());
    const std::size_t behind = identifier.begin + word.size();
    std::string_view rest = text.substr(behind, end - behind);
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlank), rest.size()));
    found.push_back({begin, end, rest});
  }
  return found;
}

/// Does it begin with "#ifndef X" and "#define X"?
bool is_guarded(std::string_view text) {
  const auto words = tokens(text);
  return words.size() > 6 && words[0] == "#" && words[1] == "ifndef" && words[4] == "#" &&
         words[5] == "define" && words[2] == words[6];
}

class Joiner {
 public:
  Joiner(const FindHeader& find, std::size_t limit) : find_(find), limit_(limit) {}

  Result<std::string> join(const File& file, int depth) {
    if (depth > kDeepest) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("{}: includes itself without end", file.path)};
    }
    std::string text;
    std::size_t at = 0;
    for (const Directive& include : directives(file.text, "include")) {
      if (!include.rest.starts_with('"')) continue;
      const std::size_t close = include.rest.find('"', 1);
      if (close == std::string_view::npos) continue;
      const auto header = find_(file.path, include.rest.substr(1, close - 1));
      if (!header) continue;
      text.append(file.text, at, include.begin - at);
      CUCO_TRY_ASSIGN(const std::string inner, join_header(*header, depth + 1));
      text += inner;
      at = include.end;
      CUCO_TRY(check_size(text.size(), file));
    }
    return text.append(file.text, at);
  }

 private:
  Result<std::string> join_header(const File& header, int depth) {
    const auto pragmas = directives(header.text, "pragma");
    const auto once = std::ranges::find_if(
        pragmas, [](const Directive& pragma) { return pragma.rest.starts_with("once"); });
    const bool is_once = once != pragmas.end();
    const bool is_open = std::ranges::find(open_, header.path) != open_.end();
    // Inside itself its guard is set already: the compiler would skip it.
    if (is_open && (is_once || is_guarded(header.text))) return std::string();
    open_.push_back(header.path);
    File bare = header;
    if (is_once) bare.text.erase(once->begin, once->end - once->begin);
    auto inner = join(bare, depth);
    open_.pop_back();
    if (!inner || !is_once) return inner;
    // A file that is taken once gets a name by which the compiler knows that, also where several
    // texts that took it are put together.
    const std::string guard = "CUCO_JOINED_" + content_id(header.text);
    return fmt::format("#ifndef {0}\n#define {0}\n{1}{2}#endif", guard, *inner,
                       inner->ends_with('\n') ? "" : "\n");
  }

  Result<void> check_size(std::size_t size, const File& file) {
    if (size <= limit_) return {};
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{}: more than {} MiB with the headers beside it; put those that need "
                             "no change into a folder of their own, and name it with --include",
                             file.path, limit_ >> 20U)};
  }

  const FindHeader& find_;
  std::size_t limit_;
  std::vector<std::string> open_;  ///< Paths, outermost first.
};

}  // namespace

Result<std::string> joined(const File& file, const FindHeader& find, std::size_t limit) {
  return Joiner(find, limit).join(file, 0);
}

}  // namespace cuco::program

// SPDX-License-Identifier: Apache-2.0
#include "program/patch.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "program/regions.h"

namespace cuco::program {
namespace {

constexpr std::size_t kLeastMark = 5;
/// Each edit reads the whole text again.
constexpr std::size_t kMostHunks = 500;
constexpr std::size_t kMostText = std::size_t{1} << 20U;
constexpr std::size_t kNowhere = std::string_view::npos;

Error unusable(std::string reason) {
  return {ErrorKind::InvalidInput, std::move(reason)};
}

/// What stands behind a row of that sign; nothing if the line does not begin with one.
std::optional<std::string_view> behind_mark(std::string_view line, char sign) {
  const auto text = trim(line);
  const auto end = std::min(text.find_first_not_of(sign), text.size());
  if (end < kLeastMark) return std::nullopt;
  return trim(text.substr(end));
}

bool starts_with_word(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  return std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
    return a == (b >= 'a' && b <= 'z' ? static_cast<char>(b - 'a' + 'A') : b);
  });
}

bool divides(std::string_view line) {
  const auto rest = behind_mark(line, '=');
  return rest && rest->empty();
}

bool closes_hunk(std::string_view line) {
  const auto rest = behind_mark(line, '>');
  return rest && (rest->empty() || starts_with_word(*rest, "REPLACE"));
}

/// Without the end of a line in any style, and with plain blanks for those that only look like it.
std::string plain(std::string_view line) {
  std::string made;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line.substr(i, 2) == "\xC2\xA0") {
      made += ' ';
      ++i;
    } else {
      made += line[i];
    }
  }
  const auto last = made.find_last_not_of(" \t\r");
  made.resize(last == std::string::npos ? 0 : last + 1);
  return made;
}

std::string_view indentation(std::string_view line) {
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
}

/// Lines with their places in the text.
struct Line {
  std::string text;  ///< plain()
  std::size_t begin = 0;
  std::size_t end = 0;  ///< Behind its newline.
};

std::vector<Line> lines_of(std::string_view text, std::size_t begin, std::size_t end) {
  std::vector<Line> list;
  while (begin < end) {
    const auto newline = text.find('\n', begin);
    const auto next = newline == kNowhere ? end : std::min(newline + 1, end);
    const auto stop = newline == kNowhere ? end : std::min(newline, end);
    list.push_back({plain(text.substr(begin, stop - begin)), begin, next});
    begin = next;
  }
  return list;
}

/// The lines of a hunk without blank ones around them.
std::vector<std::string> wanted_lines(const std::string& search) {
  std::vector<std::string> list;
  for (const auto line : split(search, '\n'))
    list.push_back(plain(line));
  const auto blank = [](const std::string& line) { return line.empty(); };
  list.erase(list.begin(), std::find_if_not(list.begin(), list.end(), blank));
  while (!list.empty() && list.back().empty())
    list.pop_back();
  return list;
}

bool are_equal(const std::string& a, const std::string& b, bool indented) {
  return indented ? a == b : trim(a) == trim(b);
}

struct Place {
  const std::vector<Line>* lines = nullptr;
  std::size_t first = 0;
};

std::vector<Place> places(const std::vector<std::vector<Line>>& open,
                          const std::vector<std::string>& wanted,
                          bool indented) {
  std::vector<Place> found;
  for (const auto& lines : open) {
    for (std::size_t at = 0; at + wanted.size() <= lines.size(); ++at) {
      bool same = true;
      for (std::size_t i = 0; i < wanted.size() && same; ++i)
        same = are_equal(lines[at + i].text, wanted[i], indented);
      if (same) found.push_back({&lines, at});
    }
  }
  return found;
}

/// The line that has most in common with the first one that was searched for.
std::string nearest_line(const std::vector<std::vector<Line>>& open, const std::string& wanted) {
  std::vector<std::string> all;
  for (const auto& lines : open) {
    for (const Line& line : lines) {
      if (!trim(line.text).empty()) all.emplace_back(trim(line.text));
    }
  }
  std::string found;
  std::size_t most = 0;
  const auto text = trim(wanted);
  for (const std::string& line : all) {
    const auto ends = std::mismatch(line.begin(), line.end(), text.begin(), text.end());
    const auto common = static_cast<std::size_t>(ends.first - line.begin());
    if (common <= most) continue;
    most = common;
    found = line;
  }
  return found;
}

/// The new lines, moved as far as the old ones were.
std::string moved(const Hunk& hunk, std::string_view was, std::string_view is) {
  std::string made;
  auto lines = split(hunk.replace, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (std::string_view line : lines) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (was != is && !trim(line).empty() && line.starts_with(was)) {
      made += is;
      line.remove_prefix(was.size());
    }
    made += line;
    made += '\n';
  }
  return made;
}

Result<std::string> apply(std::string_view text, const Hunk& hunk, std::size_t number) {
  const std::vector<std::string> wanted = wanted_lines(hunk.search);
  if (wanted.empty()) {
    return unusable(
        fmt::format("edit {} searches for nothing: say which lines it replaces", number));
  }
  CUCO_TRY_ASSIGN(const std::vector<Region> regions, find_regions(text));
  std::vector<std::vector<Line>> open;
  for (const Region& region : regions)
    open.push_back(lines_of(text, region.begin, region.end));
  if (regions.empty()) open.push_back(lines_of(text, 0, text.size()));
  auto found = places(open, wanted, true);
  if (found.empty()) found = places(open, wanted, false);
  if (found.size() > 1) {
    return unusable(fmt::format("edit {} fits {} places: '{}'; search for more lines around it",
                                number, found.size(), trim(wanted.front())));
  }
  if (found.empty()) {
    const std::string near = nearest_line(open, wanted.front());
    const bool frozen =
        !regions.empty() && !places({lines_of(text, 0, text.size())}, wanted, false).empty();
    return unusable(fmt::format(
        "edit {} {}: '{}'{}", number,
        frozen ? "changes frozen lines" : "searches for lines that are not there",
        trim(wanted.front()), near.empty() || frozen ? "" : fmt::format("; nearest: '{}'", near)));
  }
  const auto& lines = *found.front().lines;
  const Line& first = lines[found.front().first];
  const Line& last = lines[found.front().first + wanted.size() - 1];
  std::string made(text.substr(0, first.begin));
  made += moved(hunk, indentation(wanted.front()), indentation(first.text));
  made += text.substr(last.end);
  return made;
}

}  // namespace

bool opens_hunk(std::string_view line) {
  const auto rest = behind_mark(line, '<');
  return rest && starts_with_word(*rest, "SEARCH");
}

Result<Hunk> read_hunk(const std::vector<std::string_view>& lines, std::size_t* at) {
  Hunk hunk;
  bool divided = false;
  for (++*at; *at < lines.size(); ++*at) {
    const std::string_view line = lines[*at];
    if (closes_hunk(line)) {
      ++*at;
      if (divided) return hunk;
      return unusable("an edit has no line of '=' between SEARCH and REPLACE");
    }
    if (opens_hunk(line)) return unusable("an edit begins before the one above it ends");
    if (!divided && divides(line)) {
      divided = true;
      continue;
    }
    if (trim(line).starts_with("```")) continue;
    std::string& part = divided ? hunk.replace : hunk.search;
    part += line;
    part += '\n';
  }
  return unusable("the last edit is not closed (>>>>>>> REPLACE): the answer was cut off");
}

Result<std::vector<Hunk>> find_hunks(std::string_view text) {
  const auto lines = split(text, '\n');
  std::vector<Hunk> hunks;
  for (std::size_t at = 0; at < lines.size();) {
    if (!opens_hunk(lines[at])) {
      ++at;
      continue;
    }
    CUCO_TRY_ASSIGN(Hunk hunk, read_hunk(lines, &at));
    hunks.push_back(std::move(hunk));
  }
  return hunks;
}

Result<std::string> apply_hunks(std::string_view text, std::span<const Hunk> hunks) {
  if (hunks.size() > kMostHunks) {
    return unusable(fmt::format("the answer has {} edits, more than the {} that one may have",
                                hunks.size(), kMostHunks));
  }
  std::string made(text);
  for (std::size_t i = 0; i < hunks.size(); ++i) {
    CUCO_TRY_ASSIGN(made, apply(made, hunks[i], i + 1));
    if (made.size() > std::max(kMostText, 4 * text.size())) {
      return unusable(fmt::format("the program has {} after edit {}: too long",
                                  human_bytes(static_cast<double>(made.size())), i + 1));
    }
  }
  return made;
}

}  // namespace cuco::program

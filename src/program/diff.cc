// SPDX-License-Identifier: Apache-2.0
// Myers' greedy algorithm (1986): the shortest edit script is the path of least cost through the
// grid of line pairs; the furthest point on each diagonal is kept per cost, and the trail is walked
// back. Costs O((N+M)D) time and O(D^2) memory, so D has a limit: texts with more changes than that
// (a program of nothing but line ends) are shown as one replaced by the other. To keep diffs
// readable, a common prefix and suffix are cut first, and changed runs are slid down to end at
// blank lines.
#include "program/diff.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace cuco::program {
namespace {

using Lines = std::vector<std::string_view>;

constexpr int kMostChanges = 4000;  // 64 MB

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    const auto length = newline == std::string_view::npos ? text.size() : newline + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

/// For each line, whether it is removed (of `before`) or added (of `after`).
struct Script {
  std::vector<char> removed;
  std::vector<char> added;
};

/// The furthest x on diagonals -d..d, for one cost d.
using Front = std::vector<int>;

void walk_back(const std::vector<Front>& trail, int x, int y, int skip, Script& script) {
  for (int d = static_cast<int>(trail.size()) - 1; d > 0; --d) {
    const auto& front = trail[static_cast<std::size_t>(d - 1)];
    const auto reach = [&](int k) { return front[static_cast<std::size_t>(k + d - 1)]; };
    const int k = x - y;
    const bool down = k == -d || (k != d && reach(k - 1) < reach(k + 1));
    const int previous_k = down ? k + 1 : k - 1;
    const int previous_x = reach(previous_k);
    const int previous_y = previous_x - previous_k;
    if (down) {
      script.added[static_cast<std::size_t>(skip + previous_y)] = 1;
    } else {
      script.removed[static_cast<std::size_t>(skip + previous_x)] = 1;
    }
    x = previous_x;
    y = previous_y;
  }
}

std::ptrdiff_t as_offset(std::size_t at) {
  return static_cast<std::ptrdiff_t>(at);
}

/// Of more changes than the limit: everything but the common begin and end.
Script shortest_script(const Lines& before, const Lines& after) {
  Script script{std::vector<char>(before.size()), std::vector<char>(after.size())};
  std::size_t prefix = 0;
  while (prefix < before.size() && prefix < after.size() && before[prefix] == after[prefix]) {
    ++prefix;
  }
  std::size_t n = before.size();
  std::size_t m = after.size();
  while (n > prefix && m > prefix && before[n - 1] == after[m - 1]) {
    --n;
    --m;
  }
  const int width = static_cast<int>(n - prefix);
  const int height = static_cast<int>(m - prefix);
  const auto equal = [&](int x, int y) {
    return before[prefix + static_cast<std::size_t>(x)] ==
           after[prefix + static_cast<std::size_t>(y)];
  };
  std::vector<Front> trail;
  for (int d = 0; d <= std::min(width + height, kMostChanges); ++d) {
    Front front(static_cast<std::size_t>(2 * d + 1), 0);
    for (int k = -d; k <= d; k += 2) {
      int x = 0;
      if (d > 0) {
        const auto& last = trail.back();
        const auto reach = [&](int diagonal) {
          return last[static_cast<std::size_t>(diagonal + d - 1)];
        };
        const bool down = k == -d || (k != d && reach(k - 1) < reach(k + 1));
        x = down ? reach(k + 1) : reach(k - 1) + 1;
      }
      int y = x - k;
      while (x < width && y < height && y >= 0 && equal(x, y)) {
        ++x;
        ++y;
      }
      front[static_cast<std::size_t>(k + d)] = x;
      if (x >= width && y >= height) {
        trail.push_back(std::move(front));
        walk_back(trail, width, height, static_cast<int>(prefix), script);
        return script;
      }
    }
    trail.push_back(std::move(front));
  }
  std::fill(script.removed.begin() + as_offset(prefix), script.removed.begin() + as_offset(n), 1);
  std::fill(script.added.begin() + as_offset(prefix), script.added.begin() + as_offset(m), 1);
  return script;
}

/// Slides each run of marked lines down while that leaves the same text, preferring to end on a
/// blank line or a closing brace: the change then reads as whole paragraphs.
void slide_runs(const Lines& lines, std::vector<char>& marked) {
  const auto ends_well = [&](std::size_t last) {
    return lines[last] == "\n" || lines[last].starts_with("}");
  };
  for (std::size_t i = 0; i < marked.size(); ++i) {
    if (marked[i] == 0) continue;
    std::size_t begin = i;
    std::size_t end = i;
    while (end < marked.size() && marked[end] != 0)
      ++end;
    std::size_t shift = 0;
    for (std::size_t s = 0;; ++s) {
      if (s > 0 && ends_well(end + s - 1)) {
        shift = s;
        break;
      }
      if (ends_well(end - 1) || end + s >= lines.size() || marked[end + s] != 0 ||
          lines[begin + s] != lines[end + s]) {
        break;
      }
    }
    for (std::size_t s = 0; s < shift; ++s) {
      marked[begin + s] = 0;
      marked[end + s] = 1;
    }
    i = end + shift;
  }
}

struct Step {
  char sign;
  std::string_view line;
  std::size_t before_line;
  std::size_t after_line;
};

std::vector<Step> steps_of(const Lines& before, const Lines& after, const Script& script) {
  std::vector<Step> steps;
  std::size_t x = 0;
  std::size_t y = 0;
  while (x < before.size() || y < after.size()) {
    if (x < before.size() && script.removed[x] != 0) {
      steps.push_back({'-', before[x], x, y});
      ++x;
    } else if (y < after.size() && script.added[y] != 0) {
      steps.push_back({'+', after[y], x, y});
      ++y;
    } else {
      steps.push_back({' ', before[x], x, y});
      ++x;
      ++y;
    }
  }
  return steps;
}

std::string hunk_text(const std::vector<Step>& steps, std::size_t first, std::size_t last) {
  std::size_t removed = 0;
  std::size_t added = 0;
  std::string body;
  for (std::size_t i = first; i < last; ++i) {
    removed += steps[i].sign != '+' ? 1U : 0U;
    added += steps[i].sign != '-' ? 1U : 0U;
    body += steps[i].sign;
    body += steps[i].line;
    if (!steps[i].line.ends_with('\n')) body += "\n\\ No newline at end of file\n";
  }
  const auto start = [](std::size_t line, std::size_t count) {
    return count == 0 ? line : line + 1;
  };
  return fmt::format("@@ -{},{} +{},{} @@\n{}", start(steps[first].before_line, removed), removed,
                     start(steps[first].after_line, added), added, body);
}

}  // namespace

std::string unified_diff(std::string_view path, std::string_view before, std::string_view after) {
  if (before == after) return {};
  constexpr std::size_t kContext = 3;
  const auto old_lines = lines_of(before);
  const auto new_lines = lines_of(after);
  auto script = shortest_script(old_lines, new_lines);
  slide_runs(old_lines, script.removed);
  slide_runs(new_lines, script.added);
  const auto steps = steps_of(old_lines, new_lines, script);
  std::string text = fmt::format("--- a/{}\n+++ b/{}\n", path, path);
  for (std::size_t i = 0; i < steps.size();) {
    if (steps[i].sign == ' ') {
      ++i;
      continue;
    }
    const std::size_t first = i > kContext ? i - kContext : 0;
    // A hunk goes on while the next change is near enough for the contexts to touch.
    std::size_t last_change = i;
    for (std::size_t j = i; j < steps.size() && j <= last_change + 2 * kContext; ++j) {
      if (steps[j].sign != ' ') last_change = j;
    }
    const std::size_t end = std::min(steps.size(), last_change + kContext + 1);
    text += hunk_text(steps, first, end);
    i = end;
  }
  return text;
}

std::string unified_diff(const Source& before, const Source& after) {
  std::string text;
  for (const auto& file : before.files()) {
    const auto other = after.find(file.path);
    text += unified_diff(file.path, file.text, other == nullptr ? std::string_view() : other->text);
  }
  for (const auto& file : after.files()) {
    if (before.find(file.path) == nullptr) text += unified_diff(file.path, {}, file.text);
  }
  return text;
}

}  // namespace cuco::program

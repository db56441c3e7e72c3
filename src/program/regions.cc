// SPDX-License-Identifier: Apache-2.0
#include "program/regions.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::program {
namespace {

constexpr std::string_view kBegin = "// cuco: evolve begin";
constexpr std::string_view kEnd = "// cuco: evolve end";
// What CUCo's programs have instead; these have no names.
constexpr std::string_view kBlockBegin = "// EVOLVE-BLOCK-START";
constexpr std::string_view kBlockEnd = "// EVOLVE-BLOCK-END";

struct Line {
  std::size_t begin = 0;
  std::size_t next = 0;  ///< Offset of the following line.
  std::string_view text;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto newline = text.find('\n', at);
    const auto next = newline == std::string_view::npos ? text.size() : newline + 1;
    lines.push_back({at, next, text.substr(at, next - at)});
    at = next;
  }
  return lines;
}

/// Whether blocks begin and end in turn. Where they do not they mark nothing: programs are about
/// that were published so, and they are comments to everybody else.
bool blocks_pair_up(std::span<const Line> lines) {
  bool open = false;
  for (const Line& line : lines) {
    const auto content = trim(line.text);
    if (!content.starts_with(open ? kBlockBegin : kBlockEnd)) {
      if (content.starts_with(open ? kBlockEnd : kBlockBegin)) open = !open;
      continue;
    }
    return false;
  }
  return !open;
}

Error at_line(int line, std::string_view what) {
  return {ErrorKind::InvalidInput, fmt::format("line {}: {}", line, what)};
}

/// The frozen text: everything outside the regions' bodies.
std::string frozen_text(std::string_view text, std::span<const Region> regions) {
  std::string frozen;
  std::size_t at = 0;
  for (const auto& region : regions) {
    frozen += text.substr(at, region.begin - at);
    at = region.end;
  }
  frozen += text.substr(at);
  return frozen;
}

/// The line of `text` that a line of its frozen text stands on.
int line_in_text(std::string_view text,
                 std::span<const Region> regions,
                 std::size_t frozen_offset) {
  std::size_t offset = frozen_offset;
  for (const auto& region : regions) {
    if (offset >= region.begin) offset += region.end - region.begin;
  }
  const auto before = text.substr(0, std::min(offset, text.size()));
  return 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
}

}  // namespace

Result<std::vector<Region>> find_regions(std::string_view text) {
  std::vector<Region> regions;
  std::optional<Region> open;
  int number = 0;
  int block = 0;
  const auto lines = lines_of(text);
  const bool blocks = blocks_pair_up(lines);
  for (const auto& line : lines) {
    ++number;
    const auto content = trim(line.text);
    const bool block_begins = blocks && content.starts_with(kBlockBegin);
    if (content.starts_with(kBegin) || block_begins) {
      if (open) return at_line(number, "evolve regions do not nest");
      const std::string name = block_begins ? fmt::format("block {}", ++block)
                                            : std::string(trim(content.substr(kBegin.size())));
      if (name.empty()) return at_line(number, "evolve begin needs a name");
      const bool taken = std::any_of(regions.begin(), regions.end(),
                                     [&](const Region& region) { return region.name == name; });
      if (taken) return at_line(number, fmt::format("duplicate evolve region '{}'", name));
      open = Region{name, line.next, 0, number};
    } else if (content.starts_with(kEnd) || (blocks && content.starts_with(kBlockEnd))) {
      if (!open) return at_line(number, "evolve end without begin");
      open->end = line.begin;
      regions.push_back(*std::move(open));
      open.reset();
    }
  }
  if (open) {
    return at_line(open->first_line, fmt::format("evolve region '{}' has no end", open->name));
  }
  return regions;
}

std::string as_region(std::string_view name, std::string_view text) {
  const bool ends_a_line = text.empty() || text.back() == '\n';
  return fmt::format("{} {}\n{}{}{}\n", kBegin, name, text, ends_a_line ? "" : "\n", kEnd);
}

Result<std::string> replace_regions(std::string_view text,
                                    std::span<const Replacement> replacements) {
  CUCO_TRY_ASSIGN(const std::vector<Region> regions, find_regions(text));
  for (const auto& replacement : replacements) {
    const bool known = std::any_of(regions.begin(), regions.end(), [&](const Region& region) {
      return region.name == replacement.region;
    });
    if (!known) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("no evolve region '{}'", replacement.region)};
    }
    if (replacement.body.find("cuco: evolve") != std::string::npos ||
        replacement.body.find("EVOLVE-BLOCK-") != std::string::npos) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("the body of '{}' contains an evolve marker", replacement.region)};
    }
  }
  std::string result;
  std::size_t at = 0;
  for (const auto& region : regions) {
    result += text.substr(at, region.begin - at);
    at = region.end;
    const auto found = std::find_if(
        replacements.begin(), replacements.end(),
        [&](const Replacement& replacement) { return replacement.region == region.name; });
    if (found == replacements.end()) {
      result += text.substr(region.begin, region.end - region.begin);
      continue;
    }
    result += found->body;
    if (!found->body.empty() && found->body.back() != '\n') result += '\n';
  }
  result += text.substr(at);
  return result;
}

Result<std::optional<FrozenEdit>> find_frozen_edit(std::string_view original,
                                                   std::string_view edited) {
  CUCO_TRY_ASSIGN(const std::vector<Region> before, find_regions(original));
  if (before.empty()) return std::optional<FrozenEdit>();
  CUCO_TRY_ASSIGN(const std::vector<Region> after, find_regions(edited));
  // The marker lines are frozen text, so equal frozen texts also mean the same regions.
  const auto was = frozen_text(original, before);
  const auto is = frozen_text(edited, after);
  if (was == is) return std::optional<FrozenEdit>();
  const auto was_lines = lines_of(was);
  const auto is_lines = lines_of(is);
  std::size_t i = 0;
  while (i < was_lines.size() && i < is_lines.size() && was_lines[i].text == is_lines[i].text)
    ++i;
  FrozenEdit edit;
  if (i < was_lines.size()) edit.was = std::string(trim(was_lines[i].text));
  if (i < is_lines.size()) edit.is = std::string(trim(is_lines[i].text));
  edit.line = line_in_text(edited, after, i < is_lines.size() ? is_lines[i].begin : is.size());
  return std::optional(std::move(edit));
}

}  // namespace cuco::program

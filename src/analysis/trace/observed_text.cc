// SPDX-License-Identifier: Apache-2.0
// How an observed map reads: for people and for prompts.
#include <algorithm>

#include <fmt/format.h>

#include "analysis/trace/observed_map.h"
#include "base/text.h"

namespace cuco::analysis {
namespace {

constexpr std::array<std::string_view, 3> kAxes = {"x", "y", "z"};

/// A formula, or the number that was seen where there is none.
std::string value(const ObservedMap& map, std::size_t quantity) {
  const SeenQuantity& seen = map.quantities[quantity];
  if (seen.formula) return to_text(*seen.formula);
  return seen.last ? fmt::format("{}", *seen.last) : "?";
}

bool is_zero(const ObservedMap& map, std::size_t quantity) {
  const SeenQuantity& seen = map.quantities[quantity];
  if (seen.formula) return seen.formula->factor == 0;
  return seen.last && *seen.last == 0;
}

/// "128 * y + 3": where a block begins, along rows or columns.
std::string place(const ObservedMap& map, std::size_t constant) {
  std::vector<std::string> terms;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t by = constant + 1 + axis;
    // Nobody has seen a second block along that axis.
    const bool is_unseen = !map.quantities[by].last && !map.quantities[by].differs;
    if (is_zero(map, by) || is_unseen) continue;
    const std::string factor = value(map, by);
    terms.push_back(factor == "1" ? std::string(kAxes[axis])
                                  : fmt::format("{} * {}", factor, kAxes[axis]));
  }
  if (!is_zero(map, constant)) terms.push_back(value(map, constant));
  return terms.empty() ? "0" : join(terms, " + ");
}

std::string block_index(const ObservedMap& map) {
  std::size_t axes = 1;
  for (std::size_t axis = 1; axis < 3; ++axis) {
    if (map.last.grid[axis] > 1) axes = axis + 1;
  }
  std::vector<std::string> names(kAxes.begin(), kAxes.begin() + static_cast<std::ptrdiff_t>(axes));
  return fmt::format("({})", join(names, ", "));
}

std::string subject(const ObservedMap& map) {
  const auto& grid = map.last.grid;
  const bool is_one = map.shapes == 1 && grid == std::array<std::uint32_t, 3>{1, 1, 1};
  return is_one ? "its one block" : "block " + block_index(map);
}

/// Units of columns; bytes where elements are not known, or not met.
std::string unit(const ObservedMap& map) {
  const auto& columns = map.quantities[Columns].last;
  const bool in_elements =
      map.element_bytes > 1 && columns && *columns * map.element_bytes == map.last.bytes;
  if (!in_elements) return "bytes";
  // A vector is no element of the program's data.
  return map.element_bytes > 8 ? fmt::format("{}-byte elements", map.element_bytes) : "elements";
}

std::string tile(const ObservedMap& map) {
  if (map.pieces > 1) {
    return fmt::format("{} {} in {} pieces from {} on", value(map, Columns), unit(map), map.pieces,
                       place(map, Column));
  }
  if (is_zero(map, Pitch)) {
    return fmt::format("{} {} .. +{}", unit(map), place(map, Column), value(map, Columns));
  }
  return fmt::format("rows {} .. +{}, {} {} .. +{} of each {}", place(map, Row), value(map, Rows),
                     unit(map) == "bytes" ? "bytes" : "columns", place(map, Column),
                     value(map, Columns), value(map, Pitch));
}

/// The blocks' extents, where no formula says them.
std::string extents(const ObservedMap& map) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> parts;
  for (std::size_t block = 0; block < map.last_ranges.size(); ++block) {
    const auto& ranges = map.last_ranges[block];
    if (ranges.empty()) continue;
    if (parts.size() == kShown) {
      parts.emplace_back("…");
      break;
    }
    parts.push_back(
        fmt::format("block {}: {} .. {}{}", block, ranges.front().first, ranges.back().second,
                    ranges.size() > 1 ? fmt::format(" in {} pieces", ranges.size()) : ""));
  }
  return join(parts, "; ");
}

}  // namespace

std::string to_text(const ObservedMap& map) {
  switch (map.form) {
    case TileForm::Nothing:
      return "nothing";
    case TileForm::Affine:
      return fmt::format("{} -> {}{}", subject(map), tile(map),
                         map.is_clipped ? ", cut off at the edge" : "");
    case TileForm::Same:
      return fmt::format("every block -> {}", tile(map));
    case TileForm::OneBlock:
      return fmt::format("one block only -> {}", tile(map));
    case TileForm::Tiles:
      return fmt::format("one tile of {} x {} bytes a block, in an order that is not affine",
                         map.last.rows, map.last.bytes);
    case TileForm::Other:
      break;
  }
  return fmt::format("{}, in bytes, {}",
                     map.launches_differ ? "not the same in all launches; in the last"
                                         : "not affine; in the last launch",
                     extents(map));
}

std::string basis(const ObservedMap& map) {
  const bool has_formula =
      map.form == TileForm::Affine || map.form == TileForm::Same || map.form == TileForm::OneBlock;
  if (map.shapes == 1) return "one shape";
  if (!has_formula) return fmt::format("{} shapes", map.shapes);
  std::size_t least = map.shapes;
  for (const SeenQuantity& seen : map.quantities) {
    if (seen.differs) return "launches differ in what is shown as ?";
    if (!seen.last) continue;
    if (!seen.formula)
      return fmt::format("{} shapes, numbers of the last where there is no formula", map.shapes);
    least = std::min(least, seen.shapes);
  }
  std::string text = "fitted on 2 shapes";
  if (map.shapes == 3) text += ", verified on a third";
  if (map.shapes > 3) text += fmt::format(", verified on {} others", map.shapes - 2);
  // Steps along an axis need a grid of several blocks there.
  if (least < map.shapes && least < 3)
    text += fmt::format("; some steps were seen in {} of them only", least);
  return text;
}

std::string remarks(const ObservedMap& map) {
  std::vector<std::string> parts = {basis(map)};
  if (map.writes)
    parts.emplace_back(map.one_each ? "each byte by one block" : "some bytes by several blocks");
  if (!map.writes && map.origins.is_block_local()) {
    parts.emplace_back("block-local: an earlier launch's block of the same index made it");
  } else if (!map.writes) {
    if (map.origins.arrived > 0) parts.emplace_back("brought by communication");
    if (map.origins.own + map.origins.others > 0)
      parts.emplace_back("made by other blocks of earlier launches");
  }
  if (!map.is_exact)
    parts.emplace_back("narrow gaps between ranges are filled: there were too many");
  return join(parts, " · ");
}

std::string to_text(std::span<const ObservedMap> maps) {
  std::string text;
  for (const ObservedMap& map : maps) {
    text +=
        fmt::format("{} {} {}{}: {} ({})\n", map.kernel, map.writes ? "writes" : "reads", map.name,
                    map.buffer.empty() ? "" : " = " + map.buffer, to_text(map), remarks(map));
  }
  return text;
}

}  // namespace cuco::analysis

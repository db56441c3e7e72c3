// SPDX-License-Identifier: Apache-2.0
#include "expert/chunks/tile_text.h"

#include <array>
#include <optional>

#include <fmt/format.h>

namespace cuco::expert::chunks {
namespace {

using analysis::ObservedMap;
using analysis::Quantity;
using analysis::SeenQuantity;

constexpr std::array<std::string_view, 3> kAxes = {"x", "y", "z"};

Error no(const ObservedMap& map, std::string_view why) {
  return {ErrorKind::InvalidInput,
          fmt::format("what {} writes to '{}' {}", map.kernel, map.name, why)};
}

const SeenQuantity& seen(const ObservedMap& map, std::size_t quantity) {
  return map.quantities[quantity];
}

/// Of every shape that was seen; no block has shown it: 0.
bool is_zero(const ObservedMap& map, std::size_t quantity) {
  const SeenQuantity& one = seen(map, quantity);
  if (one.differs) return false;
  return !one.last || (one.formula && one.formula->factor == 0);
}

bool is_same(const ObservedMap& map, std::size_t a, std::size_t b) {
  const auto& one = seen(map, a).in_kernel;
  return one && one == seen(map, b).in_kernel;
}

/// Two shapes gave the formula, and a third agrees.
std::optional<std::string> in_kernel(const ObservedMap& map, std::size_t quantity) {
  const SeenQuantity& one = seen(map, quantity);
  if (!one.in_kernel || one.shapes < 3) return std::nullopt;
  const std::string text = analysis::to_text(*one.in_kernel);
  const auto& parameters = one.in_kernel->parameters;
  if (parameters.empty() ||
      (parameters.size() == 1 && one.in_kernel->divisor == 1 && one.in_kernel->factor == 1)) {
    return parameters.empty() ? text : fmt::format("(size_t){}", text);
  }
  return fmt::format("(size_t)({})", text);
}

/// The axis along which blocks go on by whole tiles of `size`, and by nothing else.
struct Axis {
  int number = -1;  ///< -1: no axis moves that way.
  bool is_clear = true;
};
Axis axis_of(const ObservedMap& map, Quantity step, Quantity across, Quantity size) {
  Axis found;
  for (int axis = 0; axis < 3; ++axis) {
    if (is_zero(map, step + axis)) continue;
    if (found.number >= 0 || !is_same(map, step + axis, size) || !is_zero(map, across + axis))
      found.is_clear = false;
    found.number = axis;
  }
  return found;
}

std::string index(int axis) {
  return axis < 0 ? "0" : fmt::format("blockIdx.{}", kAxes.at(static_cast<std::size_t>(axis)));
}
std::string extent(int axis) {
  return axis < 0 ? "1" : fmt::format("gridDim.{}", kAxes.at(static_cast<std::size_t>(axis)));
}

}  // namespace

Result<std::string> tile_text(const ObservedMap& map) {
  if (map.form != analysis::TileForm::Affine)
    return no(map, fmt::format("is no tile a block whose place is affine in the block's index ({})",
                               analysis::name(map.form)));
  if (map.pieces > 1) return no(map, "is more than one tile a block");
  if (!map.one_each) return no(map, "is written by several blocks");
  if (!map.is_exact) return no(map, "was seen with gaps filled in");
  if (!is_zero(map, analysis::Row) || !is_zero(map, analysis::Column))
    return no(map, "does not begin where the kernel's pointer points");
  const auto columns = in_kernel(map, analysis::Columns);
  const Axis across = axis_of(map, analysis::ColumnX, analysis::RowX, analysis::Columns);
  const bool has_rows = !is_zero(map, analysis::Pitch);
  const Axis down = axis_of(map, analysis::RowX, analysis::ColumnX, analysis::Rows);
  if (!across.is_clear || !down.is_clear) return no(map, "does not go on tile by tile");
  if (!columns) return no(map, "has no size that follows from the kernel's parameters");
  if (!has_rows) {
    // One stretch a block: rows of one element.
    return fmt::format("{{1, {}, 1, {}, 0, {}, 1}}", *columns, index(across.number),
                       extent(across.number));
  }
  const auto rows = in_kernel(map, analysis::Rows);
  const auto pitch = in_kernel(map, analysis::Pitch);
  if (!rows || !pitch) return no(map, "has rows that do not follow from the kernel's parameters");
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}}}", *pitch, *rows, *columns, index(down.number),
                     index(across.number), extent(down.number), extent(across.number));
}

}  // namespace cuco::expert::chunks

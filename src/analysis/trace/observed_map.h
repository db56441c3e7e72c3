// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which blocks of a kernel write and read which part of what its parameters point to: seen in runs
/// on the virtual cluster and, where it is affine, as a formula of the shape.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/communication_graph.h"
#include "analysis/trace/shape_formula.h"
#include "analysis/trace/tile_map.h"
#include "vcluster/record/block_record.h"

namespace cuco::analysis {

/// One run of the program.
struct SeenRun {
  std::string shape;           ///< Its name; empty: the program has but one.
  ShapeParameters parameters;  ///< None: the same.
  vcluster::BlockRecord record;
  /// Names of the buffers that each process makes first, in that order: a workload's inputs and
  /// outputs.
  std::vector<std::string> given = {};
};

/// What a map is made of, in elements: block (x, y, z) begins at row Row + RowX * x + …, column
/// Column + ColumnX * x + …, and has Rows rows of Columns. Without a pitch there are no rows.
enum Quantity : std::uint8_t {
  Row,
  RowX,
  RowY,
  RowZ,
  Column,
  ColumnX,
  ColumnY,
  ColumnZ,
  Rows,
  Columns,
  Pitch,
  kQuantities
};

/// Of one quantity, over all shapes.
struct SeenQuantity {
  std::optional<ShapeFormula> formula;  ///< Absent: there is none, or nothing is known.
  /// The same in terms of the kernel's own parameters and its launch: see kernel_numbers.h.
  std::optional<ShapeFormula> in_kernel;
  std::optional<std::int64_t> last;  ///< In the last shape; absent: no block showed it.
  std::size_t shapes = 0;            ///< That showed it: a grid of one block shows no step.
  bool differs = false;              ///< Launches of one shape do not agree.
};

/// Where what a block reads comes from, in bytes of all launches.
struct ReadOrigins {
  std::uint64_t own = 0;      ///< The block of the same index of an earlier launch made it.
  std::uint64_t others = 0;   ///< Another block of an earlier launch.
  std::uint64_t arrived = 0;  ///< A collective brought it.
  std::uint64_t given = 0;    ///< It was there, or was copied there.
  /// A grid of the same blocks could keep it: nothing but its own work comes back to a block.
  [[nodiscard]] bool is_block_local() const { return own > 0 && others == 0 && arrived == 0; }
};

/// One kernel, one of its pointers, one direction.
struct ObservedMap {
  std::string kernel;     ///< "scale<float>".
  int graph_kernel = -1;  ///< In the graph; -1: it could not be matched.
  std::uint32_t parameter = 0;
  std::uint32_t inside = 0;  ///< Offset of the pointer, where the parameter is a struct.
  std::string name;          ///< Of the parameter.
  std::string buffer;        ///< What it points to, all that were seen; empty: not known.
  bool writes = false;
  std::int64_t element_bytes = 1;  ///< 1 where the type is not known: then all counts are bytes.

  TileForm form = TileForm::Nothing;
  bool launches_differ = false;  ///< Then it is Other: each may have a rule, but not the same.
  std::array<SeenQuantity, kQuantities> quantities;
  std::size_t pieces = 1;
  bool is_clipped = false;
  bool one_each = true;
  bool is_exact = true;
  std::size_t launches = 0;
  std::size_t shapes = 0;    ///< That it was seen in.
  bool is_verified = false;  ///< Two shapes gave the formulas, and the others agree.
  TileMap last;              ///< Of the first device's last launch in the last shape.
  BlockRanges last_ranges;   ///< What its blocks touched: for maps that no formula says.
  ReadOrigins origins;       ///< Of reads.
};

/// In the order of the kernels' first launches, then of parameters; reads before writes.
[[nodiscard]] std::vector<ObservedMap> find_maps(const CommunicationGraph& graph,
                                                 const std::vector<SeenRun>& runs);

/// The map of one pointer of a kernel of the graph; null: it was not seen.
[[nodiscard]] const ObservedMap* find_map(std::span<const ObservedMap> maps,
                                          int graph_kernel,
                                          std::uint32_t parameter,
                                          bool writes);

/// What a block's whole tile covers, in elements.
struct TilePlace {
  std::int64_t row = 0, rows = 1;
  std::int64_t column = 0, columns = 0;
};
/// In a shape that need not have been seen. Nothing where no formula says it.
[[nodiscard]] std::optional<TilePlace> place_of(const ObservedMap& map,
                                                const BlockIndex& block,
                                                const ShapeParameters& shape);

/// All of them, a line each, kernel first: for prompts.
[[nodiscard]] std::string to_text(std::span<const ObservedMap> maps);
/// "block (x, y) -> rows 128 * y .. +128, columns 128 * x .. +128".
[[nodiscard]] std::string to_text(const ObservedMap& map);
/// "fitted on 2 shapes, verified on a third"; "one shape".
[[nodiscard]] std::string basis(const ObservedMap& map);
/// The basis, and what else is known: "each byte by one block", "block-local state".
[[nodiscard]] std::string remarks(const ObservedMap& map);

}  // namespace cuco::analysis

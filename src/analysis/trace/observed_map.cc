// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/observed_map.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/trace/kernel_numbers.h"
#include "analysis/trace/kernel_symbol.h"
#include "analysis/trace/read_origins.h"
#include "base/text.h"

namespace cuco::analysis {
namespace {

using vcluster::BlockMap;
using vcluster::TracedPointer;
using vcluster::TracedStep;

int find_kernel(const CommunicationGraph& graph, const KernelSymbol& symbol) {
  int found = -1;
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
    if (graph.kernels[i].name != symbol.name) continue;
    if (graph.kernels[i].arguments == symbol.arguments) return static_cast<int>(i);
    if (found < 0) found = static_cast<int>(i);
  }
  return found;
}

/// Of what a pointer of this type points to; 1: not known.
std::int64_t element_bytes(const std::string& type) {
  static const std::vector<std::pair<std::string_view, std::int64_t>> kSizes = {
      {"bfloat162", 4}, {"bfloat16", 2}, {"half2", 4},  {"half", 2},     {"float4", 16},
      {"float2", 8},    {"float", 4},    {"double", 8}, {"int4", 16},    {"int2", 8},
      {"long", 8},      {"int64", 8},    {"uint64", 8}, {"int16", 2},    {"short", 2},
      {"int8", 1},      {"char", 1},     {"int", 4},    {"unsigned", 4}, {"size_t", 8}};
  for (const auto& [word, bytes] : kSizes) {
    if (type.find(word) != std::string::npos) return bytes;
  }
  return 1;
}

/// What blocks touch of the bytes that belong to a pointer: from it up to the next pointer into the
/// same buffer; the lowest has also what lies before it.
BlockRanges ranges_of(const BlockMap& map,
                      bool writes,
                      const TracedPointer& pointer,
                      const std::vector<TracedPointer>& all) {
  auto begin = std::int64_t{0};
  auto end = std::numeric_limits<std::int64_t>::max();
  for (const TracedPointer& other : all) {
    if (other.buffer != pointer.buffer) continue;
    if (other.offset > pointer.offset) end = std::min(end, static_cast<std::int64_t>(other.offset));
    if (other.offset < pointer.offset) begin = static_cast<std::int64_t>(pointer.offset);
  }
  const auto origin = static_cast<std::int64_t>(pointer.offset);
  BlockRanges out(map.size());
  for (std::size_t block = 0; block < map.size(); ++block) {
    for (const vcluster::ByteRange& range :
         vcluster::as_ranges(writes ? map[block].written : map[block].read)) {
      const std::int64_t from = std::max(static_cast<std::int64_t>(range.begin), begin);
      const std::int64_t to = std::min(static_cast<std::int64_t>(range.end), end);
      if (from < to) out[block].emplace_back(from - origin, to - origin);
    }
  }
  return out;
}

using Numbers = std::array<std::optional<std::int64_t>, kQuantities>;

/// The quantities of one launch; none where its map is not affine.
Numbers numbers_of(const TileMap& map, std::int64_t element) {
  Numbers out;
  const bool is_fixed = map.form == TileForm::OneBlock;
  if (map.form != TileForm::Affine && map.form != TileForm::Same && !is_fixed) return out;
  std::int64_t unit = element;
  for (const std::int64_t value : {map.first.constant, map.bytes, map.pitch}) {
    if (value % unit != 0) unit = 1;
  }
  const auto split = [&](std::int64_t bytes, Quantity row, Quantity column) {
    const bool in_rows = map.pitch > 0 && bytes % map.pitch == 0;
    out[row] = in_rows ? bytes / map.pitch : 0;
    out[column] = in_rows ? 0 : bytes / unit;
  };
  split(map.first.constant, Row, Column);
  if (map.pitch > 0 && map.first.constant > 0) {
    out[Row] = map.first.constant / map.pitch;
    out[Column] = map.first.constant % map.pitch / unit;
  }
  for (const std::size_t axis : {0U, 1U, 2U}) {
    const auto by = is_fixed ? std::optional<std::int64_t>(0) : map.first.by[axis];
    // One block along this axis: what the next would do is not known.
    if (by) split(*by, static_cast<Quantity>(RowX + axis), static_cast<Quantity>(ColumnX + axis));
  }
  out[Rows] = map.rows;
  out[Columns] = map.bytes / unit;
  out[Pitch] = map.pitch / unit;
  return out;
}

/// All launches of one run.
struct SeenLaunches {
  TileForm form = TileForm::Nothing;
  Numbers numbers;
  std::array<bool, kQuantities> differs{};
  ShapeParameters parameters;  ///< With the grid's.
  ShapeParameters in_kernel;
};

struct Gathered {
  ObservedMap map;
  std::vector<std::string> buffers;          ///< Names, as they were seen.
  std::map<std::size_t, SeenLaunches> runs;  ///< By run.
  std::optional<std::pair<std::size_t, std::int32_t>>
      last;  ///< Run and device of ObservedMap::last.

  /// Which device is the last one of all is a question of time.
  bool is_last(std::size_t run, std::int32_t device) {
    if (last && last->first == run && last->second < device) return false;
    last.emplace(run, device);
    return true;
  }
};

/// What two launches are together. One with few blocks may show the same for all.
TileForm joined(TileForm a, TileForm b, bool* differ) {
  if (a == b) return a;
  const auto is_affine = [](TileForm form) {
    return form == TileForm::Affine || form == TileForm::Same;
  };
  if (is_affine(a) && is_affine(b)) return TileForm::Affine;
  *differ = true;
  return TileForm::Other;
}

void add_launch(Gathered& gathered,
                std::size_t run,
                const TileMap& tiles,
                const ShapeParameters& shape,
                const ShapeParameters& in_kernel) {
  const auto [found, is_new] = gathered.runs.try_emplace(run);
  SeenLaunches& seen = found->second;
  const Numbers numbers = numbers_of(tiles, gathered.map.element_bytes);
  if (is_new) {
    seen.form = tiles.form;
    seen.numbers = numbers;
    seen.parameters = shape;
    seen.in_kernel = in_kernel;
    for (const auto& [axis, name] :
         {std::pair(0U, "gridDim.x"), {1U, "gridDim.y"}, {2U, "gridDim.z"}})
      seen.parameters.emplace_back(name, tiles.grid[axis]);
    return;
  }
  seen.form = joined(seen.form, tiles.form, &gathered.map.launches_differ);
  for (std::size_t i = 0; i < kQuantities; ++i) {
    if (!seen.numbers[i]) seen.numbers[i] = numbers[i];
    if (numbers[i] && seen.numbers[i] != numbers[i]) seen.differs[i] = true;
  }
}

/// Two shapes give the formula of a quantity, the others must agree.
std::optional<ShapeFormula> verified_formula(const std::vector<ShapeParameters>& shapes,
                                             const std::vector<std::int64_t>& values) {
  // Two that differ, where there are such: shapes that have a parameter in common tell less of it.
  const auto other =
      std::ranges::find_if(values, [&](std::int64_t value) { return value != values.front(); });
  const auto second = other == values.end() ? std::min<std::size_t>(1, values.size() - 1)
                                            : static_cast<std::size_t>(other - values.begin());
  const std::array fitted_shapes = {shapes.front(), shapes[second]};
  const std::array fitted_values = {values.front(), values[second]};
  const auto formula = fit_formula(fitted_shapes, fitted_values);
  if (!formula) return std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (formula->at(shapes[i]) != values[i]) return std::nullopt;
  }
  return formula;
}

SeenQuantity conclude(const std::map<std::size_t, SeenLaunches>& runs, std::size_t quantity) {
  SeenQuantity out;
  std::vector<ShapeParameters> shapes;
  std::vector<ShapeParameters> in_kernel;
  std::vector<std::int64_t> values;
  for (const auto& [run, seen] : runs) {
    if (seen.differs[quantity]) return {.differs = true};
    if (!seen.numbers[quantity]) continue;
    shapes.push_back(seen.parameters);
    in_kernel.push_back(seen.in_kernel);
    values.push_back(*seen.numbers[quantity]);
  }
  if (values.empty()) return out;
  out.last = values.back();
  out.shapes = values.size();
  out.formula = verified_formula(shapes, values);
  out.in_kernel = verified_formula(in_kernel, values);
  return out;
}

void conclude(Gathered& gathered) {
  ObservedMap& map = gathered.map;
  map.buffer = join(gathered.buffers, ", ");
  map.shapes = gathered.runs.size();
  map.form = gathered.runs.begin()->second.form;
  for (const auto& [run, seen] : gathered.runs) {
    map.form = joined(map.form, seen.form, &map.launches_differ);
    // One launch's rectangle is another's row: no one rule for both.
    if (seen.differs[Rows] || seen.differs[Columns] || seen.differs[Pitch]) {
      map.form = TileForm::Other;
      map.launches_differ = true;
    }
  }
  if (map.form == TileForm::Other) return;
  bool all = true;
  for (std::size_t i = 0; i < kQuantities; ++i) {
    map.quantities[i] = conclude(gathered.runs, i);
    const SeenQuantity& seen = map.quantities[i];
    all = all && !seen.differs && (!seen.last || (seen.formula && seen.shapes > 2));
  }
  map.is_verified = all && map.shapes > 2;
}

using Key = std::tuple<std::string, std::uint32_t, std::uint32_t, bool>;

class Collector {
 public:
  explicit Collector(const CommunicationGraph& graph) : graph_(graph) {}

  void add(std::size_t number, const SeenRun& run) {
    const auto origins = origins_of(run.record);
    for (std::size_t i = 0; i < run.record.steps.size(); ++i) {
      const TracedStep& step = run.record.steps[i];
      if (step.kind != "kernel" || step.is_dropped) continue;
      for (const TracedPointer& pointer : step.pointers) {
        for (const bool writes : {false, true})
          add_pointer(number, run, step, pointer, writes, origins[i]);
      }
    }
  }

  std::vector<ObservedMap> take() {
    std::vector<ObservedMap> out;
    for (const Key& key : order_) {
      Gathered& gathered = all_.at(key);
      conclude(gathered);
      if (gathered.map.form != TileForm::Nothing) out.push_back(std::move(gathered.map));
    }
    return out;
  }

 private:
  void add_pointer(std::size_t number,
                   const SeenRun& run,
                   const TracedStep& step,
                   const TracedPointer& pointer,
                   bool writes,
                   const std::map<std::uint64_t, ReadOrigins>& origins) {
    const auto touched =
        std::ranges::find(step.touched, pointer.buffer, &vcluster::TouchedBuffer::buffer);
    if (touched == step.touched.end() || !is_mine(step, pointer, writes)) return;
    BlockRanges ranges = ranges_of(run.record.maps[touched->map], writes, pointer, step.pointers);
    const TileMap tiles = find_tiles(step.grid, ranges);
    if (tiles.form == TileForm::Nothing) return;
    Gathered& gathered = entry(step, pointer, writes);
    ObservedMap& map = gathered.map;
    note_buffer(gathered, run, pointer);
    add_launch(gathered, number, tiles, run.parameters,
               kernel_numbers(kernel_of(map.graph_kernel), step));
    ++map.launches;
    map.pieces = std::max(map.pieces, tiles.pieces);
    map.is_clipped = map.is_clipped || tiles.is_clipped;
    map.one_each = map.one_each && tiles.one_each;
    map.is_exact = map.is_exact && touched->is_exact;
    if (gathered.is_last(number, step.device)) {
      map.last = tiles;
      map.last_ranges = std::move(ranges);
    }
    if (const auto found = origins.find(pointer.buffer); !writes && found != origins.end()) {
      map.origins.own += found->second.own;
      map.origins.others += found->second.others;
      map.origins.arrived += found->second.arrived;
      map.origins.given += found->second.given;
    }
  }

  /// A run knows a workload's own buffers; for others there is the graph's word.
  void note_buffer(Gathered& gathered, const SeenRun& run, const TracedPointer& pointer) const {
    const std::uint64_t number = pointer.buffer & 0xFFFF'FFFFU;  // within its process
    std::string name;
    if (number >= 1 && number <= run.given.size()) {
      name = run.given[number - 1];
    } else if (const auto* known = parameter_of(gathered.map.graph_kernel, pointer.parameter);
               known != nullptr && known->buffer >= 0) {
      name = graph_.buffers[static_cast<std::size_t>(known->buffer)].name;
    }
    auto& names = gathered.buffers;
    if (!name.empty() && std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  }

  /// Two pointers to the same place: the one that the source reads, or writes, through.
  [[nodiscard]] bool is_mine(const TracedStep& step,
                             const TracedPointer& pointer,
                             bool writes) const {
    const int kernel = find_kernel(graph_, read_symbol(step.name));
    const TracedPointer* best = nullptr;
    for (const TracedPointer& other : step.pointers) {
      if (other.buffer != pointer.buffer || other.offset != pointer.offset) continue;
      if (best == nullptr ||
          (!does(kernel, best->parameter, writes) && does(kernel, other.parameter, writes))) {
        best = &other;
      }
    }
    return best != nullptr && best->parameter == pointer.parameter &&
           best->inside == pointer.inside;
  }

  [[nodiscard]] bool does(int kernel, std::uint32_t parameter, bool writes) const {
    const KernelParameter* known = parameter_of(kernel, parameter);
    return known != nullptr && (writes ? known->written : known->read);
  }

  [[nodiscard]] const KernelParameter* parameter_of(int kernel, std::uint32_t parameter) const {
    if (kernel < 0) return nullptr;
    const auto& parameters = graph_.kernels[static_cast<std::size_t>(kernel)].parameters;
    return parameter < parameters.size() ? &parameters[parameter] : nullptr;
  }

  [[nodiscard]] const Kernel* kernel_of(int kernel) const {
    return kernel < 0 ? nullptr : &graph_.kernels[static_cast<std::size_t>(kernel)];
  }

  Gathered& entry(const TracedStep& step, const TracedPointer& pointer, bool writes) {
    const KernelSymbol symbol = read_symbol(step.name);
    const Key key{symbol.name + symbol.arguments, pointer.parameter, pointer.inside, writes};
    const auto [found, is_new] = all_.try_emplace(key);
    if (!is_new) return found->second;
    order_.push_back(key);
    ObservedMap& map = found->second.map;
    map.kernel = symbol.name + symbol.arguments;
    map.graph_kernel = find_kernel(graph_, symbol);
    map.parameter = pointer.parameter;
    map.inside = pointer.inside;
    map.writes = writes;
    map.name = "parameter " + std::to_string(pointer.parameter + 1);
    if (const KernelParameter* known = parameter_of(map.graph_kernel, pointer.parameter)) {
      map.name = known->name;
      if (known->is_pointer) map.element_bytes = element_bytes(known->type);
    }
    if (pointer.inside > 0) map.name += " + " + std::to_string(pointer.inside);
    return found->second;
  }

  const CommunicationGraph& graph_;
  std::map<Key, Gathered> all_;
  std::vector<Key> order_;
};

}  // namespace

std::vector<ObservedMap> find_maps(const CommunicationGraph& graph,
                                   const std::vector<SeenRun>& runs) {
  Collector collector(graph);
  for (std::size_t i = 0; i < runs.size(); ++i)
    collector.add(i, runs[i]);
  auto maps = collector.take();
  // Kernels stay in the order of their first launch.
  std::vector<std::string> kernels;
  for (const ObservedMap& map : maps) {
    if (std::ranges::find(kernels, map.kernel) == kernels.end()) kernels.push_back(map.kernel);
  }
  std::ranges::stable_sort(maps, {}, [&](const ObservedMap& map) {
    return std::tuple(std::ranges::find(kernels, map.kernel) - kernels.begin(), map.writes,
                      map.parameter, map.inside);
  });
  return maps;
}

const ObservedMap* find_map(std::span<const ObservedMap> maps,
                            int graph_kernel,
                            std::uint32_t parameter,
                            bool writes) {
  const auto found = std::ranges::find_if(maps, [&](const ObservedMap& map) {
    return map.graph_kernel == graph_kernel && map.parameter == parameter && map.inside == 0 &&
           map.writes == writes;
  });
  return found == maps.end() ? nullptr : &*found;
}

std::optional<TilePlace> place_of(const ObservedMap& map,
                                  const BlockIndex& block,
                                  const ShapeParameters& shape) {
  if (map.form != TileForm::Affine && map.form != TileForm::Same) return std::nullopt;
  if (map.pieces > 1) return std::nullopt;
  // Where nobody has seen a step along an axis, only the first block there is known.
  const auto value = [&](std::size_t quantity, bool is_needed) -> std::optional<std::int64_t> {
    const SeenQuantity& seen = map.quantities[quantity];
    if (!is_needed && !seen.last && !seen.differs) return 0;
    return seen.formula ? seen.formula->at(shape) : std::nullopt;
  };
  const auto at = [&](std::size_t constant) -> std::optional<std::int64_t> {
    auto sum = value(constant, true);
    for (std::size_t axis = 0; axis < 3 && sum; ++axis) {
      const auto by = value(constant + 1 + axis, block[axis] > 0);
      sum = by ? std::optional(*sum + *by * static_cast<std::int64_t>(block[axis])) : std::nullopt;
    }
    return sum;
  };
  const auto row = at(Row);
  const auto column = at(Column);
  const auto rows = value(Rows, true);
  const auto columns = value(Columns, true);
  if (!row || !column || !rows || !columns) return std::nullopt;
  return TilePlace{*row, *rows, *column, *columns};
}

}  // namespace cuco::analysis

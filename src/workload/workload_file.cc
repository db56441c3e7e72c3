// SPDX-License-Identifier: Apache-2.0
//
// Reads workload.toml to its end whatever is wrong with it, and reports all of it: a person who
// writes a workload corrects ten lines at once, not one in ten attempts.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "base/toml.h"
#include "program/regions.h"
#include "workload/table_reader.h"
#include "workload/workload.h"

namespace cuco::workload {
namespace {

void check_unique(std::set<std::string>& seen, const Reader& reader, const std::string& name) {
  if (!name.empty() && !seen.insert(name).second)
    reader.wrong(reader.node("name"), fmt::format("duplicate name '{}'", name));
}

void read_use(const Reader& reader, std::string_view word, Shape& shape) {
  if (word == "check") {
    shape.uses.insert(Use::Check);
  } else if (word == "hidden") {
    shape.uses.insert(Use::Hidden);
  } else if (word == "time") {
    shape.uses.insert(Use::Time);
  } else if (word == "full") {
    shape.uses.insert(Use::Full);
  } else {
    static const std::vector<std::string> kWords{"check", "hidden", "time", "full"};
    const auto near = nearest(word, kWords);
    reader.wrong(reader.node("use"),
                 fmt::format("unknown use: {} ({})", word,
                             near ? "did you mean " + *near : "check, hidden, time, full"));
  }
}

/// A shape whose params are not all there keeps none: no formula is tried on it.
Shape read_shape(Reader reader, const Workload& workload) {
  reader.allow({"name", "use", "params"});
  Shape shape;
  shape.name = reader.text("name");
  for (const std::string& word : reader.texts("use"))
    read_use(reader, word, shape);
  const auto* node = reader.node("params");
  const auto* params = node != nullptr ? node->as_table() : nullptr;
  if (params == nullptr) {
    reader.wrong(node, "'params' must be a table");
    return shape;
  }
  bool whole = true;
  for (const std::string& name : workload.params) {
    const auto* value = params->get(name);
    const auto number = value != nullptr ? value->value<std::int64_t>() : std::nullopt;
    if (!number) {
      reader.wrong(value != nullptr ? value : node,
                   fmt::format("params needs an integer '{}'", name));
    }
    whole = whole && number.has_value();
    shape.params.push_back(number.value_or(1));
  }
  for (const auto& [key, value] : *params) {
    if (std::ranges::find(workload.params, key.str()) != workload.params.end()) continue;
    reader.wrong(&value,
                 fmt::format("unknown parameter (not in the workload's params): {}", key.str()));
  }
  if (!whole) shape.params.clear();
  return shape;
}

/// Tries something on every shape that can be tried; the first that fails is reported.
template <typename Attempt>
void try_on_shapes(const Reader& reader,
                   std::string_view key,
                   const Workload& workload,
                   const Attempt& attempt) {
  for (const Shape& shape : workload.shapes) {
    if (shape.params.size() != workload.params.size()) continue;
    const Result<void> tried = attempt(shape);
    if (tried) continue;
    return reader.wrong(reader.node(key), fmt::format("'{}' on shape '{}': {}", key, shape.name,
                                                      tried.error().message()));
  }
}

Result<void> try_elements(const Workload& workload, const Shape& shape, const std::string& rule) {
  CUCO_TRY_ASSIGN(const double elements, evaluate(rule, workload.variables(shape)));
  if (elements >= 1 && elements <= 0x1p40 && elements == std::floor(elements)) return {};
  return Error{ErrorKind::InvalidInput, fmt::format("{} elements", elements)};
}

Result<void> try_type(const Workload& workload,
                      const Shape& shape,
                      const std::string& rule,
                      bool is_output) {
  CUCO_TRY_ASSIGN(const std::string word, choose(rule, workload.variables(shape)));
  CUCO_TRY_ASSIGN(const Element element, parse_element(word));
  // Where there is no tolerance at all, that has been reported.
  const bool reported = workload.tolerance.empty();
  if (!is_output || workload.tolerance.contains(element) || reported) return {};
  return Error{ErrorKind::InvalidInput,
               element == Element::Int32 ? "int32 is for inputs only" : "no tolerance for " + word};
}

std::vector<BufferRule> read_buffers(const Reader& top,
                                     std::string_view key,
                                     const Workload& workload) {
  std::vector<BufferRule> rules;
  std::set<std::string> names;
  for (Reader& reader : top.tables(key)) {
    reader.allow({"name", "elements", "type"});
    const BufferRule rule{reader.text("name"), reader.text("elements"), reader.text("type")};
    check_unique(names, reader, rule.name);
    if (!rule.elements.empty()) {
      try_on_shapes(reader, "elements", workload, [&](const Shape& shape) {
        return try_elements(workload, shape, rule.elements);
      });
    }
    if (!rule.type.empty()) {
      try_on_shapes(reader, "type", workload, [&](const Shape& shape) {
        return try_type(workload, shape, rule.type, key == "output");
      });
    }
    rules.push_back(rule);
  }
  return rules;
}

void read_tolerance(const Reader& top, Workload& workload) {
  const auto tables = top.tables("tolerance");
  if (tables.size() != 1) {
    if (!top.was_meant("tolerance")) top.wrong(nullptr, "needs a [tolerance] table");
    return;
  }
  for (const auto& [key, node] : tables[0].table()) {
    const auto element = parse_element(key.str());
    auto entry = tables[0].tables(key.str());
    if (!element || *element == Element::Int32 || entry.size() != 1) {
      tables[0].wrong(&node, !element                     ? element.error().message()
                             : *element == Element::Int32 ? "int32 is for inputs only"
                                                          : "must be a table");
      continue;
    }
    entry[0].allow({"relative", "scaled"});
    workload.tolerance[*element] = {entry[0].number("relative", 0), entry[0].number("scaled", 0)};
  }
}

void read_bound(const Reader& top, Workload& workload) {
  auto bounds = top.tables("bound");
  if (bounds.size() != 1) {
    if (!top.was_meant("bound")) top.wrong(nullptr, "needs a [bound] table");
    return;
  }
  Reader& reader = bounds[0];
  reader.allow({"flops", "flops_type", "hbm_bytes", "wire_bytes"});
  const auto formula = [&](const char* key) {
    std::string rule = reader.text(key);
    if (rule.empty()) return rule;
    try_on_shapes(reader, key, workload, [&](const Shape& shape) -> Result<void> {
      CUCO_TRY_ASSIGN(const double amount, evaluate(rule, workload.variables(shape)));
      if (amount >= 0) return {};
      return Error{ErrorKind::InvalidInput, fmt::format("negative amount: {}", amount)};
    });
    return rule;
  };
  workload.flops = formula("flops");
  workload.hbm_bytes = formula("hbm_bytes");
  workload.wire_bytes = formula("wire_bytes");
  workload.flops_type = reader.text("flops_type");
  if (workload.flops_type.empty()) return;
  try_on_shapes(reader, "flops_type", workload, [&](const Shape& shape) {
    return try_type(workload, shape, workload.flops_type, false);
  });
}

void read_budget(const Reader& top, Budget& budget) {
  auto budgets = top.tables("budget");
  if (budgets.empty()) return;
  Reader& reader = budgets[0];
  reader.allow(
      {"setup_seconds", "run_seconds", "host_seconds", "host_bytes", "iterations", "sets"});
  budget.setup_seconds = reader.number("setup_seconds", 0.001, 60);
  budget.run_seconds = reader.number("run_seconds", 0.001, 60);
  budget.host_seconds = reader.number("host_seconds", 0.001, 0.5);
  budget.host_bytes = reader.count("host_bytes", 1 << 30, 4096);
  budget.iterations = reader.count("iterations", 1000, 3);
  budget.sets = reader.count("sets", 16, 3);
}

/// "m = { from = 1, to = 4096, step = 16 }", or "bf16 = [0, 1]".
Range read_range(const Reader& reader, const std::string& name) {
  Range range;
  const auto* node = reader.node(name);
  const auto* list = node != nullptr ? node->as_array() : nullptr;
  if (list != nullptr) {
    for (const auto& item : *list) {
      const auto value = item.value<std::int64_t>();
      if (!value) reader.wrong(&item, fmt::format("'{}' must be a list of integers", name));
      range.values.push_back(value.value_or(1));
    }
    if (range.values.empty()) reader.wrong(node, fmt::format("'{}' has no values", name));
    return range;
  }
  auto tables = reader.tables(name);
  if (tables.size() != 1) {
    reader.wrong(node, fmt::format("needs '{0}': {0} = {{ from = 1, to = 4096, step = 16 }}, or "
                                   "a list of values",
                                   name));
    return range;
  }
  tables[0].allow({"from", "to", "step"});
  constexpr int kMost = 1 << 30;
  range.from = static_cast<long long>(tables[0].number("from", 0));
  range.to = tables[0].count("to", kMost);
  range.step = tables[0].count("step", kMost, 1);
  if (range.to < range.from) reader.wrong(node, fmt::format("'{}': 'to' is below 'from'", name));
  return range;
}

bool holds(const Range& range, long long value) {
  if (!range.values.empty()) return std::ranges::find(range.values, value) != range.values.end();
  return value >= range.from && value <= range.to && (value - range.from) % range.step == 0;
}

/// [range]: what check and hidden shapes are drawn from. Every listed shape must lie in it.
void read_ranges(const Reader& top, Workload& workload) {
  auto tables = top.tables("range");
  if (tables.empty()) return;
  const Reader& reader = tables[0];
  for (const auto& [key, node] : reader.table()) {
    if (std::ranges::find(workload.params, key.str()) != workload.params.end()) continue;
    reader.wrong(&node,
                 fmt::format("unknown parameter (not in the workload's params): {}", key.str()));
  }
  for (const std::string& name : workload.params)
    workload.ranges.push_back(read_range(reader, name));
  for (const Shape& shape : workload.shapes) {
    for (std::size_t p = 0; p < shape.params.size(); ++p) {
      if (holds(workload.ranges[p], shape.params[p])) continue;
      reader.wrong(reader.node(workload.params[p]),
                   fmt::format("shape '{}' has {} = {}, which is outside", shape.name,
                               workload.params[p], shape.params[p]));
    }
  }
}

void read_draws(const Reader& top, Workload& workload) {
  auto tables = top.tables("draws");
  if (tables.empty()) return;
  tables[0].allow({"check", "hidden", "positive"});
  Draws& draws = workload.draws;
  draws.check = tables[0].count("check", 16, 2);
  draws.hidden = tables[0].count("hidden", 16, 2);
  if (tables[0].node("positive") == nullptr) return;
  draws.positive = tables[0].text("positive");
  try_on_shapes(tables[0], "positive", workload, [&](const Shape& shape) -> Result<void> {
    CUCO_TRY_ASSIGN(const double value, evaluate(draws.positive, workload.variables(shape)));
    if (value > 0) return {};
    return Error{ErrorKind::InvalidInput, fmt::format("is {}", value)};
  });
}

/// [scale]: "m = 256", rows may shrink in steps of 256. Full shapes are multiples of their steps.
void read_scale(const Reader& top, Workload& workload) {
  const auto tables = top.tables("scale");
  if (tables.empty()) return;
  const Reader& reader = tables[0];
  for (const auto& [key, node] : reader.table()) {
    if (std::ranges::find(workload.params, key.str()) != workload.params.end()) continue;
    reader.wrong(&node,
                 fmt::format("unknown parameter (not in the workload's params): {}", key.str()));
  }
  constexpr int kMost = 1 << 30;
  for (const std::string& name : workload.params)
    workload.scale.push_back(reader.node(name) == nullptr ? 0 : reader.count(name, kMost));
  if (std::ranges::all_of(workload.scale, [](long long step) { return step == 0; }))
    reader.wrong(nullptr, "names no parameter that may shrink: m = 256");
  if (workload.shapes_for(Use::Full).empty())
    reader.wrong(nullptr, "is for full shapes, and there is no [[shape]] with use = [\"full\"]");
}

void read_shapes(const Reader& top, Workload& workload) {
  std::set<std::string> names;
  for (const Reader& reader : top.tables("shape")) {
    workload.shapes.push_back(read_shape(reader, workload));
    check_unique(names, reader, workload.shapes.back().name);
  }
  if (top.was_meant("shape")) return;
  if (workload.shapes_for(Use::Time).empty())
    top.wrong(nullptr, "needs a [[shape]] with use = [\"time\"]");
  if (workload.shapes_for(Use::Check).empty() && top.node("range") == nullptr &&
      !top.was_meant("range")) {
    top.wrong(nullptr,
              "needs a [range] of every parameter, from which check shapes are drawn: "
              "m = { from = 1, to = 4096, step = 16 }");
  }
}

Workload read_workload(const toml::table& table, Faults& faults) {
  Reader top(table, faults, "");
  top.allow({"name", "summary", "ranks", "topology", "params", "input", "output", "tolerance",
             "baseline", "range", "draws", "scale", "shape", "bound", "budget"});
  Workload workload;
  workload.name = top.text("name");
  workload.summary = top.text("summary");
  workload.ranks = top.count("ranks", 64);
  workload.topology = top.text("topology");
  workload.params = top.texts("params");
  read_tolerance(top, workload);
  read_shapes(top, workload);
  read_ranges(top, workload);
  read_draws(top, workload);
  read_scale(top, workload);
  workload.inputs = read_buffers(top, "input", workload);
  workload.outputs = read_buffers(top, "output", workload);
  if (workload.outputs.empty() && !top.was_meant("output"))
    top.wrong(nullptr, "needs an [[output]]");
  for (Reader& reader : top.tables("baseline")) {
    reader.allow({"name", "file"});
    workload.baselines[reader.text("name")] = reader.text("file");
  }
  read_bound(top, workload);
  read_budget(top, workload.budget);
  return workload;
}

/// The topology must be one that there is.
void check_topology(const toml::table& table, const Workload& workload, Faults& faults) {
  const auto folder = system::find_data("topology");
  const auto files =
      folder ? system::walk(*folder) : Result<std::vector<system::Path>>(folder.error());
  if (!files || workload.topology.empty()) return;
  std::vector<std::string> known;
  for (const system::Path& file : *files)
    known.push_back(file.stem().string());
  if (std::ranges::find(known, workload.topology) != known.end()) return;
  const auto near = nearest(workload.topology, known);
  Reader(table, faults, "")
      .wrong(table.get("topology"),
             fmt::format("unknown topology: {} ({})", workload.topology,
                         near ? "did you mean " + *near : join(known, ", ")));
}

}  // namespace

Result<Workload> parse_workload(std::string_view text, std::string_view file) {
  CUCO_TRY_ASSIGN(const toml::table table, parse_toml(text, file));
  Faults faults{std::string(file)};
  Workload workload = read_workload(table, faults);
  if (!faults.empty()) return faults.error();
  return workload;
}

Result<Workload> load_workload(const system::Path& folder) {
  const system::Path file = folder / "workload.toml";
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file, 1U << 20U));
  CUCO_TRY_ASSIGN(const toml::table table, parse_toml(text, file.string()));
  if (table.contains("whole")) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{} is a whole program; only cuco check and cuco judge accept it. For "
                             "anything else, split it into cuco_setup, cuco_run and cuco_teardown "
                             "(cuco init creates an example)",
                             folder.string())};
  }
  Faults faults(file.string());
  Workload workload = read_workload(table, faults);
  check_topology(table, workload, faults);
  workload.folder = folder;
  if (auto program = system::read_file(folder / "program.cu", 4U << 20U)) {
    workload.program = *std::move(program);
    if (const auto regions = program::find_regions(workload.program); !regions) {
      faults.add_other(
          fmt::format("{}: {}", (folder / "program.cu").string(), regions.error().message()));
    }
  } else {
    faults.add_other(program.error().message());
  }
  std::vector<std::string> others{"oracle.cpp"};
  for (const auto& [name, other] : workload.baselines)
    others.push_back(other);
  for (const std::string& other : others) {
    std::error_code code;
    if (other.empty() || std::filesystem::exists(folder / other, code)) continue;
    faults.add_other(fmt::format("{}: no such file", (folder / other).string()));
  }
  if (!faults.empty()) return faults.error();
  return workload;
}

}  // namespace cuco::workload

// SPDX-License-Identifier: Apache-2.0
#include "evaluation/workload.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>

#include "base/text.h"
#include "base/toml.h"
#include "program/regions.h"

namespace cuco::evaluation {
namespace {

/// A table of the file, read key by key; the first error wins and names its line.
class Reader {
 public:
  Reader(const toml::table& table, std::string file, std::string where)
      : table_(table), file_(std::move(file)), where_(std::move(where)) {}

  [[nodiscard]] Error wrong(const toml::node* node, std::string_view what) const {
    const auto line = node != nullptr ? node->source().begin.line : table_.source().begin.line;
    return {ErrorKind::InvalidInput,
            fmt::format("{}:{}: {}{}", file_, line, where_.empty() ? "" : where_ + ": ", what)};
  }

  Result<void> allow(std::initializer_list<std::string_view> names) const {
    const std::vector<std::string> known(names.begin(), names.end());
    for (const auto& [key, node] : table_) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      const auto near = nearest(key.str(), known);
      return wrong(&node, fmt::format("unknown key: {}{}", key.str(),
                                      near ? fmt::format(" (did you mean {})", *near) : ""));
    }
    return {};
  }

  Result<std::string> text(std::string_view key) const {
    const auto* node = table_.get(key);
    const auto value = node != nullptr ? node->value<std::string>() : std::nullopt;
    if (!value) return wrong(node, fmt::format("'{}' must be a string", key));
    return *value;
  }

  Result<double> number(std::string_view key, double fallback = NAN) const {
    const auto* node = table_.get(key);
    if (node == nullptr && !std::isnan(fallback)) return fallback;
    const auto value = node != nullptr ? node->value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value))
      return wrong(node, fmt::format("'{}' must be a number", key));
    return *value;
  }

  Result<int> count(std::string_view key, int most, int fallback = 0) const {
    const auto* node = table_.get(key);
    if (node == nullptr && fallback > 0) return fallback;
    const auto value = node != nullptr ? node->value<std::int64_t>() : std::nullopt;
    if (!value || *value < 1 || *value > most) {
      return wrong(node, fmt::format("'{}' must be a whole number from 1 to {}", key, most));
    }
    return static_cast<int>(*value);
  }

  Result<std::vector<std::string>> texts(std::string_view key) const {
    std::vector<std::string> values;
    const auto* node = table_.get(key);
    const auto* list = node != nullptr ? node->as_array() : nullptr;
    if (list == nullptr) return wrong(node, fmt::format("'{}' must be a list of strings", key));
    for (const auto& item : *list) {
      const auto value = item.value<std::string>();
      if (!value) return wrong(&item, fmt::format("'{}' must be a list of strings", key));
      values.push_back(*value);
    }
    return values;
  }

  /// The tables of [[key]], or of [key]; an absent one gives none.
  Result<std::vector<Reader>> tables(std::string_view key) const {
    std::vector<Reader> readers;
    const auto* node = table_.get(key);
    if (node == nullptr) return readers;
    if (const auto* table = node->as_table()) {
      readers.emplace_back(*table, file_, std::string(key));
      return readers;
    }
    const auto* list = node->as_array();
    if (list == nullptr) return wrong(node, fmt::format("'{}' must be a table", key));
    for (const auto& item : *list) {
      const auto* table = item.as_table();
      if (table == nullptr) return wrong(&item, fmt::format("'{}' must be tables", key));
      readers.emplace_back(*table, file_, fmt::format("{} {}", key, readers.size() + 1));
    }
    return readers;
  }

  [[nodiscard]] const toml::table& table() const { return table_; }

 private:
  const toml::table& table_;
  std::string file_;
  std::string where_;
};

Result<Element> parse_element(std::string_view name) {
  if (name == "fp32") return Element::Fp32;
  if (name == "bf16") return Element::Bf16;
  if (name == "int32") return Element::Int32;
  return Error{ErrorKind::InvalidInput,
               fmt::format("unknown element type: {} (fp32, bf16, int32)", name)};
}

Result<std::vector<BufferRule>> read_buffers(const Reader& top, std::string_view key) {
  std::vector<BufferRule> rules;
  CUCO_TRY_ASSIGN(const auto tables, top.tables(key));
  for (const Reader& reader : tables) {
    CUCO_TRY(reader.allow({"name", "elements", "type"}));
    BufferRule rule;
    CUCO_TRY_ASSIGN(rule.name, reader.text("name"));
    CUCO_TRY_ASSIGN(rule.elements, reader.text("elements"));
    CUCO_TRY_ASSIGN(rule.type, reader.text("type"));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<Use> parse_use(const Reader& reader, std::string_view word) {
  if (word == "check") return Use::Check;
  if (word == "hidden") return Use::Hidden;
  if (word == "time") return Use::Time;
  if (word == "full") return Use::Full;
  return reader.wrong(reader.table().get("use"),
                      fmt::format("unknown use: {} (check, hidden, time, full)", word));
}

Result<Shape> read_shape(const Reader& reader, const Workload& workload) {
  CUCO_TRY(reader.allow({"name", "use", "params"}));
  Shape shape;
  CUCO_TRY_ASSIGN(shape.name, reader.text("name"));
  CUCO_TRY_ASSIGN(const auto uses, reader.texts("use"));
  for (const std::string& word : uses) {
    CUCO_TRY_ASSIGN(const Use use, parse_use(reader, word));
    shape.uses.insert(use);
  }
  const auto* node = reader.table().get("params");
  const auto* params = node != nullptr ? node->as_table() : nullptr;
  if (params == nullptr) return reader.wrong(node, "'params' must be a table");
  for (const std::string& name : workload.params) {
    const auto* value = params->get(name);
    const auto number = value != nullptr ? value->value<std::int64_t>() : std::nullopt;
    if (!number)
      return reader.wrong(value != nullptr ? value : node,
                          fmt::format("params needs a whole number '{}'", name));
    shape.params.push_back(*number);
  }
  for (const auto& [key, value] : *params) {
    if (std::find(workload.params.begin(), workload.params.end(), key.str()) ==
        workload.params.end()) {
      return reader.wrong(&value, fmt::format("not in the workload's params: {}", key.str()));
    }
  }
  return shape;
}

Result<void> read_tolerance(const Reader& top, Workload& workload) {
  CUCO_TRY_ASSIGN(const auto tables, top.tables("tolerance"));
  if (tables.size() != 1) return top.wrong(nullptr, "needs a [tolerance] table");
  for (const auto& [key, node] : tables[0].table()) {
    const auto element = parse_element(key.str());
    if (!element) return tables[0].wrong(&node, element.error().message());
    if (*element == Element::Int32) return tables[0].wrong(&node, "int32 is for inputs only");
    CUCO_TRY_ASSIGN(const auto entry, tables[0].tables(key.str()));
    if (entry.size() != 1) return tables[0].wrong(&node, "must be a table");
    CUCO_TRY(entry[0].allow({"relative", "scaled"}));
    Tolerance tolerance;
    CUCO_TRY_ASSIGN(tolerance.relative, entry[0].number("relative"));
    CUCO_TRY_ASSIGN(tolerance.scaled, entry[0].number("scaled"));
    workload.tolerance[*element] = tolerance;
  }
  return {};
}

Result<void> read_rest(const Reader& top, Workload& workload) {
  CUCO_TRY_ASSIGN(const auto shapes, top.tables("shape"));
  for (const Reader& reader : shapes) {
    CUCO_TRY_ASSIGN(Shape shape, read_shape(reader, workload));
    workload.shapes.push_back(std::move(shape));
  }
  CUCO_TRY_ASSIGN(const auto baselines, top.tables("baseline"));
  for (const Reader& reader : baselines) {
    CUCO_TRY(reader.allow({"name", "file"}));
    CUCO_TRY_ASSIGN(const std::string name, reader.text("name"));
    CUCO_TRY_ASSIGN(workload.baselines[name], reader.text("file"));
  }
  CUCO_TRY_ASSIGN(const auto bounds, top.tables("bound"));
  if (bounds.size() != 1) return top.wrong(nullptr, "needs a [bound] table");
  CUCO_TRY(bounds[0].allow({"flops", "flops_type", "hbm_bytes", "wire_bytes"}));
  CUCO_TRY_ASSIGN(workload.flops, bounds[0].text("flops"));
  CUCO_TRY_ASSIGN(workload.flops_type, bounds[0].text("flops_type"));
  CUCO_TRY_ASSIGN(workload.hbm_bytes, bounds[0].text("hbm_bytes"));
  CUCO_TRY_ASSIGN(workload.wire_bytes, bounds[0].text("wire_bytes"));
  CUCO_TRY_ASSIGN(const auto budgets, top.tables("budget"));
  if (!budgets.empty()) {
    CUCO_TRY(budgets[0].allow(
        {"setup_seconds", "run_seconds", "host_seconds", "host_bytes", "iterations", "sets"}));
    CUCO_TRY_ASSIGN(workload.budget.setup_seconds, budgets[0].number("setup_seconds", 60));
    CUCO_TRY_ASSIGN(workload.budget.run_seconds, budgets[0].number("run_seconds", 60));
    CUCO_TRY_ASSIGN(workload.budget.host_seconds, budgets[0].number("host_seconds", 0.5));
    CUCO_TRY_ASSIGN(workload.budget.host_bytes, budgets[0].count("host_bytes", 1 << 30, 4096));
    CUCO_TRY_ASSIGN(workload.budget.iterations, budgets[0].count("iterations", 1000, 3));
    CUCO_TRY_ASSIGN(workload.budget.sets, budgets[0].count("sets", 16, 3));
  }
  return {};
}

/// Every formula on every shape, so that a mistake is found when the file is read.
Result<void> try_formulas(const Reader& top, const Workload& workload) {
  for (const Shape& shape : workload.shapes) {
    for (const auto* rules : {&workload.inputs, &workload.outputs}) {
      const auto buffers = workload.buffers(*rules, shape);
      if (!buffers)
        return top.wrong(nullptr,
                         fmt::format("shape '{}': {}", shape.name, buffers.error().message()));
      for (const Buffer& buffer : *buffers) {
        if (rules == &workload.inputs || workload.tolerance.contains(buffer.type)) continue;
        return top.wrong(nullptr, fmt::format("no tolerance for {}", name_of(buffer.type)));
      }
    }
    if (const auto demand = workload.demand(shape); !demand) {
      return top.wrong(
          nullptr, fmt::format("bound of shape '{}': {}", shape.name, demand.error().message()));
    }
  }
  return {};
}

}  // namespace

std::size_t bytes_of(Element element) {
  return element == Element::Bf16 ? 2 : 4;
}
std::string_view name_of(Element element) {
  switch (element) {
    case Element::Fp32:
      return "fp32";
    case Element::Bf16:
      return "bf16";
    case Element::Int32:
      return "int32";
  }
  return "";
}

Variables Workload::variables(const Shape& shape) const {
  Variables variables{{"ranks", ranks}};
  for (std::size_t i = 0; i < params.size(); ++i) {
    variables[params[i]] = static_cast<double>(shape.params[i]);
  }
  return variables;
}

Result<std::vector<Buffer>> Workload::buffers(const std::vector<BufferRule>& rules,
                                              const Shape& shape) const {
  const Variables known = variables(shape);
  std::vector<Buffer> result;
  for (const BufferRule& rule : rules) {
    auto elements = evaluate(rule.elements, known);
    if (!elements) return std::move(elements).error().while_doing(rule.name);
    if (*elements < 1 || *elements > 0x1p40 || *elements != std::floor(*elements)) {
      return Error{ErrorKind::InvalidInput, fmt::format("{}: {} elements", rule.name, *elements)};
    }
    CUCO_TRY_ASSIGN(const std::string type, choose(rule.type, known));
    CUCO_TRY_ASSIGN(const Element element, parse_element(type));
    result.push_back({rule.name, static_cast<std::size_t>(*elements), element});
  }
  return result;
}

Result<measure::Demand> Workload::demand(const Shape& shape) const {
  const Variables known = variables(shape);
  measure::Demand demand;
  CUCO_TRY_ASSIGN(demand.flops, evaluate(flops, known));
  CUCO_TRY_ASSIGN(demand.hbm_bytes, evaluate(hbm_bytes, known));
  CUCO_TRY_ASSIGN(demand.wire_bytes, evaluate(wire_bytes, known));
  return demand;
}

std::vector<const Shape*> Workload::shapes_for(Use use) const {
  std::vector<const Shape*> found;
  for (const Shape& shape : shapes) {
    if (shape.uses.contains(use)) found.push_back(&shape);
  }
  return found;
}

Result<Workload> parse_workload(std::string_view text, std::string_view file) {
  CUCO_TRY_ASSIGN(const toml::table table, parse_toml(text, file));
  const Reader top(table, std::string(file), "");
  CUCO_TRY(top.allow({"name", "summary", "ranks", "topology", "params", "input", "output",
                      "tolerance", "baseline", "shape", "bound", "budget"}));
  Workload workload;
  CUCO_TRY_ASSIGN(workload.name, top.text("name"));
  CUCO_TRY_ASSIGN(workload.summary, top.text("summary"));
  CUCO_TRY_ASSIGN(workload.ranks, top.count("ranks", 64));
  CUCO_TRY_ASSIGN(workload.topology, top.text("topology"));
  CUCO_TRY_ASSIGN(workload.params, top.texts("params"));
  CUCO_TRY_ASSIGN(workload.inputs, read_buffers(top, "input"));
  CUCO_TRY_ASSIGN(workload.outputs, read_buffers(top, "output"));
  if (workload.outputs.empty()) return top.wrong(nullptr, "needs an [[output]]");
  CUCO_TRY(read_tolerance(top, workload));
  CUCO_TRY(read_rest(top, workload));
  for (const Use use : {Use::Check, Use::Time}) {
    if (workload.shapes_for(use).empty()) {
      return top.wrong(nullptr,
                       fmt::format("needs a shape for {}", use == Use::Check ? "check" : "time"));
    }
  }
  CUCO_TRY(try_formulas(top, workload));
  return workload;
}

Result<Workload> load_workload(const system::Path& folder) {
  const system::Path file = folder / "workload.toml";
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file, 1U << 20U));
  CUCO_TRY_ASSIGN(Workload workload, parse_workload(text, file.string()));
  workload.folder = folder;
  CUCO_TRY_ASSIGN(workload.program, system::read_file(folder / "program.cu", 4U << 20U));
  if (auto regions = program::find_regions(workload.program); !regions) {
    return std::move(regions).error().while_doing((folder / "program.cu").string());
  }
  return workload;
}

}  // namespace cuco::evaluation

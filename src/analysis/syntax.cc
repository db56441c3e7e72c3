// SPDX-License-Identifier: Apache-2.0
#include "analysis/syntax.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cuco::analysis {
namespace {
using Json = nlohmann::json;

template <typename Value, std::size_t Count>
Value value_named(const std::array<std::pair<std::string_view, Value>, Count>& table,
                  const std::string& name,
                  Value otherwise) {
  for (const auto& [known, value] : table) {
    if (known == name) return value;
  }
  return otherwise;
}

constexpr std::array<std::pair<std::string_view, ExpressionKind>, 17> kExpressions{{
    {"literal", ExpressionKind::Literal},
    {"variable", ExpressionKind::Variable},
    {"function", ExpressionKind::Function},
    {"member", ExpressionKind::Member},
    {"index", ExpressionKind::Index},
    {"unary", ExpressionKind::Unary},
    {"binary", ExpressionKind::Binary},
    {"assign", ExpressionKind::Assign},
    {"conditional", ExpressionKind::Conditional},
    {"call", ExpressionKind::Call},
    {"launch", ExpressionKind::Launch},
    {"construct", ExpressionKind::Construct},
    {"list", ExpressionKind::List},
    {"new", ExpressionKind::New},
    {"lambda", ExpressionKind::Lambda},
    {"this", ExpressionKind::This},
    {"block", ExpressionKind::Block},
}};

constexpr std::array<std::pair<std::string_view, StatementKind>, 8> kStatements{{
    {"declare", StatementKind::Declare},
    {"evaluate", StatementKind::Evaluate},
    {"if", StatementKind::If},
    {"loop", StatementKind::Loop},
    {"switch", StatementKind::Switch},
    {"return", StatementKind::Return},
    {"jump", StatementKind::Jump},
    {"asm", StatementKind::Asm},
}};

std::size_t least_operands(ExpressionKind kind) {
  switch (kind) {
    case ExpressionKind::Member:
    case ExpressionKind::Unary:
      return 1;
    case ExpressionKind::Index:
    case ExpressionKind::Binary:
    case ExpressionKind::Assign:
      return 2;
    case ExpressionKind::Conditional:
      return 3;
    default:
      return 0;
  }
}

/// Reads the helper's JSON, and checks every number that another part is found by.
class Reader {
 public:
  explicit Reader(const Json& json)
      : functions_(json.value("functions", Json::array()).size()),
        variables_(json.value("variables", Json::array()).size()),
        records_(json.value("records", Json::array()).size()) {}

  Syntax read(const Json& json) const {
    Syntax syntax;
    syntax.functions = list(json, "functions", &Reader::function);
    syntax.variables = list(json, "variables", &Reader::variable);
    syntax.records = list(json, "records", &Reader::record);
    syntax.globals = list(json, "globals", &Reader::declared);
    syntax.problems = json.value("problems", std::vector<std::string>{});
    return syntax;
  }

 private:
  template <typename Item>
  std::vector<Item> list(const Json& object,
                         const char* key,
                         Item (Reader::*convert)(const Json&) const) const {
    std::vector<Item> items;
    if (const auto found = object.find(key); found != object.end()) {
      for (const auto& item : *found)
        items.push_back((this->*convert)(item));
    }
    return items;
  }

  template <typename Item>
  std::vector<Item> one(const Json& object,
                        const char* key,
                        Item (Reader::*convert)(const Json&) const) const {
    const auto found = object.find(key);
    if (found == object.end()) return {};
    return {(this->*convert)(*found)};
  }

  static int index(const Json& object, const char* key, std::size_t count) {
    const int value = object.value(key, -1);
    if (value >= static_cast<int>(count)) throw std::out_of_range(key);
    return value < 0 ? -1 : value;
  }

  static Span span(const Json& object) {
    const auto& json = object.at("span");
    const int where = json.at(4).get<int>();
    return {.begin = json.at(0).get<std::size_t>(),
            .end = json.at(1).get<std::size_t>(),
            .line = json.at(2).get<int>(),
            .end_line = json.at(3).get<int>(),
            .from_macro = where == 1,
            .elsewhere = where == 2};
  }

  Expression expression(const Json& json) const {
    Expression made;
    made.kind = value_named(kExpressions, json.value("kind", ""), ExpressionKind::Other);
    made.text = json.value("text", "");
    made.type = json.value("type", "");
    made.name = json.value("name", "");
    made.variable = index(json, "variable", variables_);
    made.function = index(json, "function", functions_);
    made.record = index(json, "record", records_);
    made.value = json.value("value", 0LL);
    made.arrow = json.value("arrow", false);
    made.lvalue = json.value("lvalue", false);
    made.writes = json.value("writable", std::vector<bool>{});
    made.span = span(json);
    made.operands = list(json, "operands", &Reader::expression);
    made.configuration = list(json, "configuration", &Reader::expression);
    made.callee = one(json, "callee", &Reader::expression);
    made.block = one(json, "statement", &Reader::statement);
    // Of code with errors the parser leaves parts out.
    if (made.operands.size() < least_operands(made.kind)) made.kind = ExpressionKind::Other;
    return made;
  }

  std::optional<Expression> value(const Json& json, const char* key) const {
    auto found = one(json, key, &Reader::expression);
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  }

  Declared declared(const Json& json) const {
    Declared made{index(json, "variable", variables_), value(json, "value")};
    if (made.variable < 0) throw std::out_of_range("variable");
    return made;
  }

  Statement statement(const Json& json) const {
    Statement made;
    made.kind = value_named(kStatements, json.value("kind", ""), StatementKind::Block);
    made.span = span(json);
    made.text = json.value("text", "");
    made.declared = list(json, "declared", &Reader::declared);
    for (const char* key : {"value", "condition", "range"}) {
      if (!made.value) made.value = value(json, key);
    }
    made.each = index(json, "each", variables_);
    made.operands = list(json, "operands", &Reader::expression);
    made.header = list(json, "header", &Reader::statement);
    if (auto first = one(json, "first", &Reader::statement); !first.empty()) {
      made.header.push_back(std::move(first.front()));
    }
    made.statements = list(json, "statements", &Reader::statement);
    return made;
  }

  Variable variable(const Json& json) const {
    return {.name = json.at("name"),
            .type = json.at("type"),
            .canonical = json.at("canonical"),
            .reference = json.value("reference", false),
            .device = json.value("device", false),
            .record = index(json, "record", records_),
            .span = span(json)};
  }

  Function function(const Json& json) const {
    Function made;
    made.name = json.at("name");
    made.arguments = json.value("arguments", "");
    const auto kind = json.value("kind", "host");
    made.kind = kind == "kernel"   ? FunctionKind::Kernel
                : kind == "device" ? FunctionKind::Device
                                   : FunctionKind::Host;
    made.span = span(json);
    made.parameters = json.value("parameters", std::vector<int>{});
    for (const int parameter : made.parameters) {
      if (parameter < 0 || parameter >= static_cast<int>(variables_)) {
        throw std::out_of_range("parameters");
      }
    }
    made.members = list(json, "members", &Reader::member_value);
    made.record = index(json, "record", records_);
    auto body = one(json, "body", &Reader::statement);
    if (!body.empty()) made.body = std::move(body.front());
    return made;
  }

  MemberValue member_value(const Json& json) const {
    return {json.at("name"), expression(json.at("value"))};
  }

  Field field(const Json& json) const {
    return {.name = json.at("name"),
            .type = json.value("type", ""),
            .record = index(json, "record", records_),
            .value = value(json, "value"),
            .span = span(json)};
  }

  Record record(const Json& json) const {
    Record made{.name = json.at("name"), .fields = list(json, "fields", &Reader::field)};
    made.bases = json.value("bases", std::vector<int>{});
    for (const int base : made.bases) {
      if (base < 0 || base >= static_cast<int>(records_)) throw std::out_of_range("bases");
    }
    made.destructor = index(json, "destructor", functions_);
    made.span = span(json);
    return made;
  }

  std::size_t functions_, variables_, records_;
};

}  // namespace

Result<Syntax> parse_syntax(std::string_view text) {
  try {
    const auto json = Json::parse(text);
    return Reader(json).read(json);
  } catch (const Json::exception& error) {
    return Error{ErrorKind::Protocol, fmt::format("cuco-analyse: {}", error.what())};
  } catch (const std::out_of_range& error) {
    return Error{ErrorKind::Protocol, fmt::format("cuco-analyse: bad number of {}", error.what())};
  }
}

}  // namespace cuco::analysis

// SPDX-License-Identifier: Apache-2.0
#include "analysis/facts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cuco::analysis {
namespace {
using Json = nlohmann::json;

Span span_of(const Json& json) {
  return {json.at(0).get<std::size_t>(), json.at(1).get<std::size_t>(), json.at(2).get<int>(),
          json.at(3).get<int>()};
}

Variable variable_of(const Json& json) {
  return {json.at("id"), json.at("name"), json.at("type"), json.value("root", ""),
          span_of(json.at("span"))};
}

template <typename Convert>
auto list_of(const Json& object, const char* key, Convert convert) {
  std::vector<decltype(convert(object))> list;
  if (const auto found = object.find(key); found != object.end()) {
    for (const auto& item : *found)
      list.push_back(convert(item));
  }
  return list;
}

Call call_of(const Json& json) {
  Call call;
  call.callee = json.at("callee");
  call.arguments = list_of(json, "arguments", [](const Json& argument) {
    return Expression{argument.at("text"), argument.value("root", "")};
  });
  call.span = span_of(json.at("span"));
  call.statement = span_of(json.at("statement"));
  call.outermost = span_of(json.at("outermost"));
  if (const auto launch = json.find("launch"); launch != json.end()) {
    call.launch = LaunchConfiguration{launch->value("grid", ""), launch->value("block", ""),
                                      launch->value("shared", ""), launch->value("stream", "")};
  }
  return call;
}

Function function_of(const Json& json) {
  Function function;
  function.name = json.at("name");
  const auto kind = json.at("kind").get<std::string>();
  function.kind = kind == "kernel"   ? FunctionKind::Kernel
                  : kind == "device" ? FunctionKind::Device
                                     : FunctionKind::Host;
  function.span = span_of(json.at("span"));
  function.body = span_of(json.at("body"));
  function.returns = list_of(json, "returns", span_of);
  function.parameters = list_of(json, "parameters", variable_of);
  function.variables = list_of(json, "variables", variable_of);
  function.calls = list_of(json, "calls", call_of);
  function.stores = list_of(json, "stores", [](const Json& store) {
    return Store{store.at("root"), store.value("direct", false), span_of(store.at("statement"))};
  });
  function.reads = list_of(json, "reads", [](const Json& root) { return root.get<std::string>(); });
  return function;
}

}  // namespace

Result<Facts> parse_facts(std::string_view text) {
  try {
    const auto json = Json::parse(text);
    Facts facts;
    facts.functions = list_of(json, "functions", function_of);
    facts.records = list_of(json, "records", [](const Json& record) {
      return Record{record.at("name"), record.value("fields", std::vector<std::string>{}),
                    span_of(record.at("span"))};
    });
    facts.problems =
        list_of(json, "problems", [](const Json& item) { return item.get<std::string>(); });
    return facts;
  } catch (const Json::exception& error) {
    return Error{ErrorKind::Protocol, fmt::format("cuco-analyse: {}", error.what())};
  }
}

}  // namespace cuco::analysis

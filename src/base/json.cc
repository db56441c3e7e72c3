// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cuco {
namespace {

std::string position(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return fmt::format("line {} column {}", line, column);
}

Result<const Json*> member(const Json& object, std::string_view name) {
  if (!object.is_object()) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("expected an object with '{}', got {}", name, object.type_name())};
  }
  const auto found = object.find(name);
  if (found == object.end()) {
    return Error{ErrorKind::InvalidInput, fmt::format("missing member '{}'", name)};
  }
  return &*found;
}

Error wrong_type(const Json& value, std::string_view name, std::string_view wanted) {
  return {ErrorKind::InvalidInput,
          fmt::format("member '{}' must be {}, is {}", name, wanted, value.type_name())};
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error{ErrorKind::InvalidInput, "malformed JSON at " + position(text, error.byte)};
  } catch (const Json::exception&) {
    return Error{ErrorKind::InvalidInput, "malformed JSON: a number is too large"};
  }
}

std::string to_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> string_member(const Json& object, std::string_view name) {
  CUCO_TRY_ASSIGN(const Json* value, member(object, name));
  if (!value->is_string()) return wrong_type(*value, name, "a string");
  return value->get<std::string>();
}

Result<std::int64_t> integer_member(const Json& object, std::string_view name) {
  CUCO_TRY_ASSIGN(const Json* value, member(object, name));
  if (!value->is_number_integer()) return wrong_type(*value, name, "an integer");
  return value->get<std::int64_t>();
}

Result<double> number_member(const Json& object, std::string_view name) {
  CUCO_TRY_ASSIGN(const Json* value, member(object, name));
  if (!value->is_number()) return wrong_type(*value, name, "a number");
  return value->get<double>();
}

Result<bool> bool_member(const Json& object, std::string_view name) {
  CUCO_TRY_ASSIGN(const Json* value, member(object, name));
  if (!value->is_boolean()) return wrong_type(*value, name, "true or false");
  return value->get<bool>();
}

}  // namespace cuco

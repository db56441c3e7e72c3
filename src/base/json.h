// SPDX-License-Identifier: Apache-2.0
/// \file
/// JSON at our borders: text that came from outside is read without exceptions, and what is wrong
/// with it is named.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace cuco {

using Json = nlohmann::json;

/// Fails with line and column of the first error.
[[nodiscard]] Result<Json> parse_json(std::string_view text);

/// One line; bytes that are not UTF-8 (a compiler's or a candidate's output) become U+FFFD.
[[nodiscard]] std::string to_text(const Json& value);

/// Members of an object by name and type. Absent or of another type is InvalidInput, named.
[[nodiscard]] Result<std::string> string_member(const Json& object, std::string_view name);
[[nodiscard]] Result<std::int64_t> integer_member(const Json& object, std::string_view name);
[[nodiscard]] Result<double> number_member(const Json& object, std::string_view name);
[[nodiscard]] Result<bool> bool_member(const Json& object, std::string_view name);

}  // namespace cuco

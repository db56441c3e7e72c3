// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading a service's JSON, where nothing is certain: null, absent and of another type all mean
/// "nothing said".
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace cuco::llm {

/// The member if it is a string, else empty.
[[nodiscard]] std::string text_at(const Json& object, const char* key);

/// The member if it is a count that makes sense, else 0.
[[nodiscard]] int count_at(const Json& object, const char* key);

/// The member, or null if there is none.
[[nodiscard]] const Json& member_at(const Json& object, const char* key);

/// The first element of a list that is an object, or null.
[[nodiscard]] const Json& first_of(const Json& list);

/// Parses; fails unless it is an object without an "error" in it. Errors that a retry may mend
/// (overloaded, rate limits, the service's own faults) are Unavailable, all others Protocol.
[[nodiscard]] Result<Json> parse_answer(std::string_view text);

/// The same for an error that was found elsewhere.
[[nodiscard]] Error service_error(std::string_view type, std::string message);

}  // namespace cuco::llm

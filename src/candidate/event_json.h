// SPDX-License-Identifier: Apache-2.0
/// \file
/// Events and their parts as JSON: the on-disk form of the store and of recordings.
///
/// Additive only: a field that is missing reads as its default, an unknown one is ignored, so that
/// old runs stay readable.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "candidate/store.h"

namespace cuco::candidate {

/// One line of JSON without sequence and time.
[[nodiscard]] std::string to_json(const EventBody& body);
[[nodiscard]] Result<EventBody> parse_event(std::string_view kind, std::string_view json);

[[nodiscard]] std::string to_json(const Outcome& outcome);
[[nodiscard]] Result<Outcome> parse_outcome(std::string_view json);

}  // namespace cuco::candidate

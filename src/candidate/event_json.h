// SPDX-License-Identifier: Apache-2.0
/// \file
/// Events and their parts as JSON: the on-disk form of the store and of recordings.
///
/// Additive only: a field that is missing reads as its default, an unknown one is ignored, so that
/// old runs stay readable.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "candidate/store.h"

namespace cuco::candidate {

/// One line of JSON without sequence and time.
[[nodiscard]] std::string to_json(const EventBody& body);

/// The same with each file's text replaced by its hash: for stores that keep a text once.
struct StoredEvent {
  std::string json;
  std::vector<std::pair<std::string, std::string_view>> texts;  ///< By hash; views of `files`.
  program::Files files;
};
[[nodiscard]] StoredEvent to_stored(const EventBody& body);

/// Gives the text behind a hash.
using TextOf = std::function<Result<std::string>(const std::string& hash)>;

/// Reads both forms; the second needs `text_of`.
[[nodiscard]] Result<EventBody> parse_event(std::string_view kind,
                                            std::string_view json,
                                            const TextOf& text_of = {});

[[nodiscard]] std::string to_json(const Outcome& outcome);
[[nodiscard]] Result<Outcome> parse_outcome(std::string_view json);

}  // namespace cuco::candidate

// SPDX-License-Identifier: Apache-2.0
/// \file
/// The last few texts that were made from other texts, for makers that take seconds.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/hash.h"

namespace cuco::analysis {

class RememberedTexts {
 public:
  explicit RememberedTexts(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  [[nodiscard]] std::optional<std::string> find(const Digest& origin) {
    const std::lock_guard lock(mutex_);
    for (auto each = texts_.begin(); each != texts_.end(); ++each) {
      if (each->first != origin) continue;
      texts_.splice(texts_.begin(), texts_, each);
      return texts_.front().second;
    }
    return std::nullopt;
  }

  /// The one that was not asked for the longest makes room.
  void add(const Digest& origin, std::string text) {
    const std::lock_guard lock(mutex_);
    bytes_ += text.size();
    texts_.emplace_front(origin, std::move(text));
    while (bytes_ > most_bytes_) {
      bytes_ -= texts_.back().second.size();
      texts_.pop_back();
    }
  }

 private:
  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<std::pair<Digest, std::string>> texts_;
};

}  // namespace cuco::analysis

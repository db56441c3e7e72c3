// SPDX-License-Identifier: Apache-2.0
/// \file
/// History: the candidates of a run with their verdicts, as they were known at one decision.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "candidate/candidate.h"

namespace cuco::candidate {

struct Judged {
  Candidate candidate;
  std::optional<Outcome> outcome;  ///< Nothing if it could not be evaluated.
};

/// By candidate number, from the seed on. Immutable and shared: proposers read it in threads of
/// their own while the run goes on.
class History {
 public:
  using Item = std::shared_ptr<const Judged>;

  History() = default;
  explicit History(std::vector<Item> items)
      : items_(std::make_shared<const std::vector<Item>>(std::move(items))) {}

  [[nodiscard]] std::size_t size() const { return items_ == nullptr ? 0 : items_->size(); }
  [[nodiscard]] const Judged& operator[](Number number) const {
    CUCO_ASSERT(number >= 0 && static_cast<std::size_t>(number) < size());
    return *(*items_)[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] const Judged& seed() const { return (*this)[kSeed]; }

  class Iterator {
   public:
    // NOLINTBEGIN(readability-identifier-naming): the standard library's names
    using iterator_category = std::input_iterator_tag;
    using value_type = Judged;
    using difference_type = std::ptrdiff_t;
    using pointer = const Judged*;
    using reference = const Judged&;
    // NOLINTEND(readability-identifier-naming)

    explicit Iterator(const Item* at) : at_(at) {}
    const Judged& operator*() const { return **at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const = default;

   private:
    const Item* at_;
  };
  [[nodiscard]] Iterator begin() const { return Iterator(size() == 0 ? nullptr : items_->data()); }
  [[nodiscard]] Iterator end() const {
    return Iterator(size() == 0 ? nullptr : items_->data() + items_->size());
  }

 private:
  std::shared_ptr<const std::vector<Item>> items_;
};

}  // namespace cuco::candidate

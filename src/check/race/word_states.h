// SPDX-License-Identifier: Apache-2.0
/// \file
/// A state for each word of a page, in little memory: neighbours mostly have the same.
///
/// One state for all of them, as long as that is true; then a list of the different ones and a byte
/// per word; and where there are too many, a state per word.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

namespace cuco::check {

template <typename State, std::size_t kWords>
class WordStates {
  static_assert(std::has_unique_object_representations_v<State>);

 public:
  [[nodiscard]] bool is_uniform() const { return listed_ == nullptr && each_ == nullptr; }
  [[nodiscard]] const State& at(std::size_t word) const {
    if (listed_ != nullptr) return listed_->states[listed_->of_word[word]];
    return each_ != nullptr ? (*each_)[word] : all_;
  }
  void set(std::size_t word, const State& state) {
    if (each_ != nullptr) {
      (*each_)[word] = state;
      return;
    }
    if (listed_ == nullptr) {
      listed_ = std::make_unique<Listed>();
      listed_->states = {all_};
    }
    if (const int place = find_or_add(state); place >= 0) {
      listed_->of_word[word] = static_cast<std::uint8_t>(place);
    } else {
      (*each_)[word] = state;
    }
  }
  void set_all(const State& state) {
    all_ = state;
    listed_.reset();
    each_.reset();
  }
  [[nodiscard]] static bool same(const State& a, const State& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  /// Beside the page itself.
  [[nodiscard]] std::size_t bytes() const {
    if (each_ != nullptr) return sizeof *each_;
    return listed_ == nullptr ? 0 : sizeof *listed_ + listed_->states.capacity() * sizeof(State);
  }

 private:
  static constexpr std::size_t kMostListed = 256;
  /// More that are in use, and a state per word costs hardly more.
  static constexpr std::size_t kManyInUse = 192;
  /// Those who were added last are looked through: whoever touches a page does so row by row.
  static constexpr std::size_t kSearched = 8;

  struct Listed {
    std::vector<State> states;
    std::array<std::uint8_t, kWords> of_word{};
    std::uint8_t last = 0;  ///< Where the last one was found.
  };

  /// -1: there are too many; every word has its own now.
  int find_or_add(const State& state) {
    if (same(listed_->states[listed_->last], state)) return listed_->last;
    std::size_t place = listed_->states.size();
    const std::size_t end = place - std::min(place, kSearched);
    while (place > end && !same(listed_->states[place - 1], state))
      --place;
    if (place > end) return listed_->last = static_cast<std::uint8_t>(place - 1);
    if (listed_->states.size() == kMostListed) {
      drop_unused();
      if (listed_->states.size() > kManyInUse) {
        spread();
        return -1;
      }
    }
    listed_->states.push_back(state);
    return listed_->last = static_cast<std::uint8_t>(listed_->states.size() - 1);
  }

  void drop_unused() {
    std::array<bool, kMostListed> is_used{};
    for (const std::uint8_t place : listed_->of_word)
      is_used[place] = true;
    std::array<std::uint8_t, kMostListed> moved{};
    std::size_t kept = 0;
    for (std::size_t place = 0; place < listed_->states.size(); ++place) {
      if (!is_used[place]) continue;
      moved[place] = static_cast<std::uint8_t>(kept);
      listed_->states[kept++] = listed_->states[place];
    }
    for (std::uint8_t& place : listed_->of_word)
      place = moved[place];
    listed_->states.resize(kept);
    listed_->last = 0;
  }

  void spread() {
    each_ = std::make_unique<std::array<State, kWords>>();
    for (std::size_t word = 0; word < kWords; ++word)
      (*each_)[word] = listed_->states[listed_->of_word[word]];
    listed_.reset();
  }

  State all_{};
  std::unique_ptr<Listed> listed_;
  std::unique_ptr<std::array<State, kWords>> each_;
};

}  // namespace cuco::check

// SPDX-License-Identifier: Apache-2.0
/// \file
/// When flags that kernels have written to other GPUs' memory get there.
///
/// A write takes effect when it is issued, in the order of virtual time. Who reads the new value
/// before it can have arrived has to wait until then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpu/memory/address_map.h"
#include "vgpu/timing/time.h"

namespace cuco::vgpu {

class Arrivals {
 public:
  /// By the canonical address of a word.
  void note(Address word, VTime when) {
    if (places_.empty()) places_.resize(std::size_t{1} << kBits);
    places_[place_of(word)] = {word, when};
  }
  /// 0: long ago.
  [[nodiscard]] VTime of(Address word) const {
    if (places_.empty()) return 0;
    const Place& place = places_[place_of(word)];
    return place.word == word ? place.when : 0;
  }
  [[nodiscard]] bool empty() const { return places_.empty(); }

 private:
  static constexpr unsigned kBits = 14;  ///< What is forgotten for another word was long ago.
  struct Place {
    Address word = 0;
    VTime when = 0;
  };
  static std::size_t place_of(Address word) {
    return (word >> 2U) * 0x9E37'79B9'7F4A'7C15ULL >> (64 - kBits);
  }
  std::vector<Place> places_;
};

}  // namespace cuco::vgpu

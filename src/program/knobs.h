// SPDX-License-Identifier: Apache-2.0
/// \file
/// Knobs: numbers in a program that can be turned without touching anything else. Named constants,
/// macros, defaults of template parameters, and template arguments at launches; in evolve regions
/// where a file has them, otherwise everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuco::program {

struct Knob {
  std::string name;  ///< "kBlocks", or "gemm<2>" for the second template argument of a launch.
  std::int64_t value = 0;
  std::size_t begin = 0;  ///< Of the literal in the text.
  std::size_t end = 0;
  bool operator==(const Knob&) const = default;
};

/// In file order. A name that stands for several numbers is left out: nobody could tell which one
/// is meant.
[[nodiscard]] std::vector<Knob> find_knobs(std::string_view text);

struct Turn {
  std::string knob;
  std::int64_t from = 0;
  std::int64_t to = 0;
  auto operator<=>(const Turn&) const = default;
};

/// The text with these knobs turned; all must be there, each at most once.
[[nodiscard]] std::string turned(std::string_view text, const std::vector<Turn>& turns);

/// What differs between the knobs of two texts that are the same otherwise; empty if they are not.
[[nodiscard]] std::vector<Turn> turns_between(std::string_view before, std::string_view after);

/// "kBlocks 16 to 32, kChunk 4 to 8".
[[nodiscard]] std::string to_text(const std::vector<Turn>& turns);

}  // namespace cuco::program

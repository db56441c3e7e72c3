// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which copies carry a program's inputs, and other data in their place. What goes to a device that
/// has sent nothing back yet cannot depend on results; what goes there later may, and is left
/// alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vcluster/record/input_variation.h"

namespace cuco::vcluster {

class VariedInputs {
 public:
  VariedInputs(InputVariation variation, std::uint32_t devices)
      : variation_(variation), has_answered_(devices, false) {}

  /// Told of every copy, in the order of the calls; absent: host memory. Does it carry inputs?
  [[nodiscard]] bool note_copy(std::optional<int> from, std::optional<int> to) {
    if (from && !to) has_answered_[static_cast<std::size_t>(*from)] = true;
    return to && !from && !has_answered_[static_cast<std::size_t>(*to)];
  }

  void apply(std::span<std::byte> bytes) const { (void)variation_.apply(bytes); }

 private:
  InputVariation variation_;
  std::vector<bool> has_answered_;
};

}  // namespace cuco::vcluster

// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far predicted times are from measured ones, as far as anybody has compared them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cuco::hardware {

/// The table [accuracy] of a hardware file; zeros where nothing was compared.
struct Accuracy {
  std::uint32_t kernels = 0;      ///< Compared with this GPU, and not fitted on.
  double kernels_within = 0;      ///< The error that nine in ten of them stay below: 0.35.
  std::uint32_t collectives = 0;  ///< Published times of NCCL's collectives that were compared.
  double collectives_within = 0;  ///< Root mean square of their errors, at most.
};

/// From the text of a hardware file; errors name file, line and key.
[[nodiscard]] Result<Accuracy> parse_accuracy(std::string_view text, std::string_view file);

/// "± 35 %, calibrated on an NVIDIA H200 (9 in 10 of 83 kernels); collectives ± 25 % (365 published
/// times)".
[[nodiscard]] std::string accuracy_text(const Accuracy& accuracy,
                                        const std::string& gpu,
                                        bool communicates);

}  // namespace cuco::hardware

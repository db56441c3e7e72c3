// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program whose producers send their own tiles, beside the same kernels with ncclAllGather.
#pragma once

#include <string>

namespace cuco::test {

/// The sets fused, fused_hybrid and fused_everyday.
[[nodiscard]] std::string fused_program(const std::string& set);

}  // namespace cuco::test

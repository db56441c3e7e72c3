// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a whole program can be judged on other inputs than its own: they are varied on their way
/// to the devices (vcluster/record/input_variation.h), and its seed must come to its end with them
/// as it did before. A program that knows its answers by heart is wrong then.
#pragma once

#include <string_view>

#include "base/result.h"
#include "system/os/files.h"
#include "targets/virtual/kept_run.h"
#include "vcluster/record/copy_log.h"

namespace cuco::judge {

/// The floating-point types that kernels of a built program know, for a GPU of `sm`.
[[nodiscard]] Result<vcluster::WrittenAs> float_types(const system::Path& built, std::uint32_t sm);

enum class Taken {
  Yes,
  Refused,     ///< It ended otherwise, or said something else: it knows what must come out.
  NothingNew,  ///< The same came back: its numbers are made on the devices, or are none.
};
/// A seed's run with its own inputs, and one with others.
[[nodiscard]] Taken are_taken(const targets::KeptRun& own, const targets::KeptRun& others);

/// For reports: what is left out because of it; empty for Yes.
[[nodiscard]] std::string_view left_out(Taken taken);

}  // namespace cuco::judge

// SPDX-License-Identifier: Apache-2.0
/// \file
/// The text of an element loop that handles several elements at once, with the original loop behind
/// it for what is left over or not aligned.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expert/kernels/writing/loop_text.h"

namespace cuco::expert::kernels {

/// The number of elements in `bytes` bytes, as an expression that holds for every instantiation.
[[nodiscard]] std::string vector_length(const std::vector<VectorAccess>& accesses, int bytes);

/// `length` is the name of that number.
[[nodiscard]] std::string emit_vector_loop(const VectorLoop& wanted,
                                           const KernelBody& kernel,
                                           std::string_view text,
                                           const std::string& length,
                                           const VectorNames& names,
                                           FreshNames& fresh);

/// The loop as it was, with other threads to share it.
[[nodiscard]] std::string emit_shared_loop(const VectorLoop& wanted,
                                           const KernelBody& kernel,
                                           std::string_view text,
                                           FreshNames& fresh);

}  // namespace cuco::expert::kernels

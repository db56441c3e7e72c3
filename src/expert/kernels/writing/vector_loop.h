// SPDX-License-Identifier: Apache-2.0
/// \file
/// The text of an element loop that handles several elements at once, with the original loop behind
/// it for what is left over or not aligned.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expert/kernels/reading/loop_accesses.h"
#include "expert/kernels/writing/fresh_names.h"
#include "expert/kernels/writing/rendering.h"

namespace cuco::expert::kernels {

/// How the threads share a loop, as expressions: usually what the program says itself.
struct Sharing {
  std::string start, step;
};

/// Names of what the program is given once: see templates/vector.cu.
struct VectorNames {
  std::string vector = "Vector";
  std::string load = "load_vector";
  std::string store = "store_vector";
  std::string aligned = "is_aligned";
};

struct VectorLoop {
  const ElementLoop* loop;
  const LoopAccesses* accesses;
  Sharing sharing;
  std::vector<Replacement> everywhere;  ///< Replacements that other moves make in the kernel.
};

/// The number of elements in `bytes` bytes, as an expression that holds for every instantiation.
[[nodiscard]] std::string vector_length(const LoopAccesses& accesses, int bytes);

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

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls that are correct by NCCL's contract but that the device headers of 2.28.9 implement wrongly.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cuco::program {

struct NcclWarning {
  std::string file;  ///< Empty: the text that was looked at.
  std::size_t line = 0;
  std::string message;  ///< What 2.28.9 does, and the version that does it right.
};

/// Looks at CUDA C++ text, without its comments and literals. The headers are inlined into the
/// program, so that only its source tells these calls apart; calls that reach the server are
/// warned of there.
[[nodiscard]] std::vector<NcclWarning> lint_nccl_2_28(std::string_view text);

/// The same for PTX with line information (nvcc -lineinfo), which names the functions that were
/// inlined and where. Arguments cannot be told from it.
[[nodiscard]] std::vector<NcclWarning> lint_nccl_2_28_ptx(std::string_view ptx);

/// What the text includes with quotes: "part.h".
[[nodiscard]] std::vector<std::string> local_includes(std::string_view text);

}  // namespace cuco::program

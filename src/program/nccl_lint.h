// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls that are correct by NCCL's contract but broken in the device headers of NCCL 2.28.9.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cuco::program {

struct NcclWarning {
  std::string file;  ///< Empty: the text that was checked.
  std::size_t line = 0;
  std::string message;  ///< What 2.28.9 does, and the version with the fix.
};

/// Checks CUDA C++ text, without its comments and literals. The headers are inlined into the
/// program, so only its source shows these calls. Calls that reach the server are checked
/// there.
[[nodiscard]] std::vector<NcclWarning> lint_nccl_2_28(std::string_view text);

/// The same for PTX with line information (nvcc -lineinfo), which names the functions that were
/// inlined and where. It does not show arguments.
[[nodiscard]] std::vector<NcclWarning> lint_nccl_2_28_ptx(std::string_view ptx);

/// What the text includes with quotes: "part.h".
[[nodiscard]] std::vector<std::string> local_includes(std::string_view text);

}  // namespace cuco::program

// SPDX-License-Identifier: Apache-2.0
/// \file
/// CUDA sources to a program that the virtual cluster can run, built once per content.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "program/nccl_lint.h"
#include "system/os/files.h"

namespace cuco::run {

struct BuildRequest {
  std::vector<system::Path> sources;
  std::vector<std::string> flags;  ///< For nvcc, after ours.
  system::Path cache;              ///< Folder that keeps built programs.
  std::uint32_t sm = 90;
  /// Host code says what it does to pinned and managed memory, if it has any.
  bool watches_host = false;
};

/// Is this something nvcc compiles or links (.cu, .cpp, .c, .o…), not a program?
[[nodiscard]] bool is_source(const system::Path& path);

/// Builds, or finds what was built from the same files with the same flags. A compiler's complaints
/// are in the error, which is InvalidInput; without nvcc it is Unavailable.
[[nodiscard]] Result<system::Path> build_program(const BuildRequest& request);

/// Prints them; `file` where a warning names none.
void tell_nccl_warnings(const std::vector<program::NcclWarning>& warnings,
                        const system::Path& file);

}  // namespace cuco::run

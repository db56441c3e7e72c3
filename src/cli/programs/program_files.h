// SPDX-License-Identifier: Apache-2.0
/// \file
/// The files of a program with main() as the judge takes them: one text that may change, and
/// sources that are compiled beside it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "program/source.h"
#include "system/os/files.h"

namespace cuco::cli {

struct ProgramFiles {
  /// The file with main(), the headers that lie beside it, and every other source that calls NCCL.
  std::string text;
  /// The other sources, with their headers, in files named by what is in them.
  std::vector<system::Path> beside;
  /// The same under names of their own, for a folder that holds the program.
  std::vector<program::File> to_write;
};

/// Does it define main()? A split program does not.
[[nodiscard]] bool has_main(const std::string& text);

/// The file with main() first; InvalidInput if there is none, or more than one.
[[nodiscard]] Result<std::vector<system::Path>> main_first(std::vector<system::Path> files);

/// `files`: as main_first() orders them. `cache`: where sources with their headers are kept.
[[nodiscard]] Result<ProgramFiles> read_program_files(const std::vector<system::Path>& files,
                                                      const system::Path& cache);

}  // namespace cuco::cli

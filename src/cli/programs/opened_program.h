// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program with a main() of its own, and the judge that compares others with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/whole/whole_program_judge.h"
#include "program/source.h"
#include "system/os/files.h"

namespace cuco::cli {

/// How the program is built and run.
struct ProgramUse {
  std::vector<system::Path> files;  ///< The one with main() first.
  int ranks = 4;
  std::vector<std::string> args;
  std::vector<std::string> includes;  ///< Header folders.
  std::vector<std::string> flags;     ///< For nvcc.
};

struct OpenedProgram {
  system::TempFolder copy;  ///< Holds the seed alone: what lies beside the file is not judged.
  std::string source;       ///< With the headers that lie beside it.
  std::vector<program::File> beside;  ///< Sources that are compiled with it.
  std::unique_ptr<judge::WholeProgramJudge> judge;
};

/// `options`: cache, tier, topology and seed; the folder is made here.
[[nodiscard]] Result<OpenedProgram> open_program(const ProgramUse& use,
                                                 judge::JudgeOptions options);

/// --ranks, --include, --nvcc or arguments were given with a workload's folder.
[[nodiscard]] Error described_twice();

}  // namespace cuco::cli

// SPDX-License-Identifier: Apache-2.0
#include "judge/provenance.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "toolchain/nvcc.h"

namespace cuco::judge {
namespace {

/// Whatever can be compiled or read: a page of documentation may change, and nobody minds.
bool counts(const system::Path& file) {
  static const std::set<std::string> kinds = {".cu", ".cuh", ".c",   ".cc",  ".cpp", ".cxx",
                                              ".h",  ".hh",  ".hpp", ".inc", ".inl", ".toml"};
  return kinds.contains(file.extension().string());
}

Result<std::string> folder_hash(const system::Path& folder) {
  CUCO_TRY_ASSIGN(std::vector<system::Path> files, system::walk(folder));
  std::sort(files.begin(), files.end());
  std::string identity;
  for (const system::Path& file : files) {
    if (!counts(file)) continue;
    CUCO_TRY_ASSIGN(const std::string text, system::read_file(folder / file));
    identity += fmt::format("{}\n{}\n", file.generic_string(), to_hex(sha256(text)));
  }
  return content_id(identity);
}

Result<std::string> file_hash(const system::Path& file) {
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
  return content_id(text);
}

/// "13.0.88", as the compiler itself says.
Result<std::string> nvcc_version(const toolchain::CudaToolkit& cuda) {
  CUCO_TRY_ASSIGN(const system::JobOutcome outcome,
                  toolchain::Nvcc(cuda).run({"--version"}, {.folder = "/"}));
  const auto at = outcome.out.find(", V");
  if (!outcome.succeeded() || at == std::string::npos) {
    return Error{ErrorKind::Unavailable,
                 fmt::format("'{} --version' gives no version", cuda.nvcc().string())};
  }
  return outcome.out.substr(at + 3, outcome.out.find_first_of(" \n", at + 3) - at - 3);
}

std::string nccl_version(const toolchain::CudaToolkit& cuda) {
  if (!cuda.nccl_include) return "none";
  const auto header = system::read_file(*cuda.nccl_include / "nccl.h");
  if (!header) return "none";
  constexpr std::string_view kMacro = "#define NCCL_VERSION_CODE ";
  const auto at = header->find(kMacro);
  if (at == std::string::npos) return "unknown version";
  const auto begin = at + kMacro.size();
  return header->substr(begin, header->find_first_not_of("0123456789", begin) - begin);
}

}  // namespace

Result<candidate::Provenance> provenance_of(const JudgedWith& files,
                                            const toolchain::CudaToolkit& cuda) {
  candidate::Provenance made{.nccl = nccl_version(cuda), .cuco = CUCO_VERSION};
  CUCO_TRY_ASSIGN(made.nvcc, nvcc_version(cuda));
  CUCO_TRY_ASSIGN(made.workload, folder_hash(files.workload));
  CUCO_TRY_ASSIGN(made.hardware, file_hash(files.hardware));
  CUCO_TRY_ASSIGN(made.topology, file_hash(files.topology));
  return made;
}

}  // namespace cuco::judge

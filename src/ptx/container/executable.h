// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a built program links, read from its bytes: whether the virtual cluster can run it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace cuco::ptx {

/// How a library got into a program.
enum class Linked : std::uint8_t { No, Dynamically, Statically };

struct Executable {
  std::vector<std::string> needed;  ///< Shared libraries, in order.
  Linked cuda_runtime = Linked::No;
  Linked nccl = Linked::No;
  Linked mpi = Linked::No;
  bool fixes_libraries = false;  ///< DT_RPATH: its folders come before those of the environment.
  bool has_device_code = false;  ///< A fat binary with at least one entry.
  std::vector<std::uint32_t> ptx_versions;  ///< 90 for compute_90; sorted, each once.
  std::vector<std::uint32_t> elf_versions;  ///< 90 for sm_90

  [[nodiscard]] bool needs(std::string_view prefix) const;
};

/// Reads an x86-64 ELF program or shared library. Never trusts an offset of it.
[[nodiscard]] Result<Executable> probe_executable(std::span<const std::byte> file);

/// The PTX of every image in the file that suits a GPU of `sm`.
[[nodiscard]] std::vector<std::string> ptx_texts(std::span<const std::byte> file, std::uint32_t sm);

/// Has the program PTX only for newer GPUs, beside machine code for this one? Then that PTX is run.
[[nodiscard]] bool takes_newer_ptx(const Executable& executable, std::uint32_t sm);

/// Why the virtual cluster cannot run the program on a GPU of `sm`, with the nvcc option to use;
/// empty if it can. A program without device code can run.
[[nodiscard]] std::string reason_not_runnable(const Executable& executable, std::uint32_t sm);

}  // namespace cuco::ptx

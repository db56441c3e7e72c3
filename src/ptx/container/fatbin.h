// SPDX-License-Identifier: Apache-2.0
/// \file
/// Extracts PTX from a CUDA fat binary. The bytes are not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace cuco::ptx {

/// One program in a fat binary.
struct FatbinEntry {
  enum class Kind : std::uint8_t { Ptx, Elf, Other };
  Kind kind = Kind::Other;
  std::uint32_t sm = 0;           ///< 90: compute_90 or sm_90.
  bool is_arch_specific = false;  ///< compute_90a, compute_100f
  std::uint32_t isa_major = 0;    ///< PTX only.
  std::uint32_t isa_minor = 0;
  std::uint64_t flags = 0;          ///< As stored: compression.
  std::uint64_t raw_bytes = 0;      ///< After decompression; 0: stored as is.
  std::span<const std::byte> body;  ///< Into the image.
};

/// Size of the image that begins with these (at least 16) bytes. An error if it is not one.
[[nodiscard]] Result<std::uint64_t> fatbin_size(std::span<const std::byte> start);

/// Lists the entries of one image (what a __fatBinC_Wrapper_t of version 1 points to, or one of the
/// prelinked images of a version 2). The entries are views of `image`.
[[nodiscard]] Result<std::vector<FatbinEntry>> list_fatbin(std::span<const std::byte> image);

/// An entry as it was before compression.
[[nodiscard]] Result<std::string> bytes_of(const FatbinEntry& entry);

/// The text of a PTX entry, decompressed, without the closing NUL.
[[nodiscard]] Result<std::string> text_of(const FatbinEntry& entry);

/// Would a GPU of `sm` take machine code of `code`: the same generation, not newer?
[[nodiscard]] bool runs_machine_code(std::uint32_t sm, std::uint32_t code);

/// The PTX that suits a GPU of compute capability `sm` (90) best: the newest that is not newer than
/// the GPU; of two, the portable one. Newer PTX will do where the program has machine code for the
/// GPU, which we cannot run: it comes from the same source. If there is nothing, the error says
/// what there is instead and which nvcc option helps. ErrorKind::NotFound is no reason to give up
/// on a program with several images: those of libcudadevrt, which -rdc=true links in, have no PTX,
/// and some are empty.
[[nodiscard]] Result<std::string> ptx_of_fatbin(std::span<const std::byte> image, std::uint32_t sm);

}  // namespace cuco::ptx

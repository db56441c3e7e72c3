// SPDX-License-Identifier: Apache-2.0
/// \file
/// parser_flags: what of nvcc's command line decides how a text is read, in clang's words.
#pragma once

#include <string>
#include <vector>

namespace cuco::toolchain {

/// Macros, include folders and files, and the C++ standard, in any of nvcc's spellings ("-DN=4",
/// "-D N=4", "--define-macro=N=4"); all else (optimisation, architectures, linking) is left out.
[[nodiscard]] std::vector<std::string> parser_flags(const std::vector<std::string>& nvcc);

}  // namespace cuco::toolchain

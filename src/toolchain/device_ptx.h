// SPDX-License-Identifier: Apache-2.0
/// \file
/// PTX of one program from two compilers: nvcc, which also made the host's half, and NVRTC. What
/// the second makes has to fit the first's host half, and for the same text has to be the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuco::toolchain {

/// Kernels that are instances of templates, as C++ names them: "gemm<float, (int)128>". The host
/// calls for them, so a compiler that does not see the host must be given them.
[[nodiscard]] std::vector<std::string> template_kernels(std::string_view ptx);

/// NVRTC's PTX with the names that nvcc gave to what lies in unnamed namespaces, and without the
/// variables that nothing refers to. Nothing if it does not have nvcc's kernels and variables, each
/// with the same parameters.
[[nodiscard]] std::optional<std::string> fit_ptx(std::string_view ptx, std::string_view nvcc);

/// Whether two texts are the same code: functions and variables, in any order; line information,
/// comments and numbering of labels do not count. Otherwise the first name that differs.
[[nodiscard]] std::optional<std::string> first_difference(std::string_view one,
                                                          std::string_view other);

/// One text for all texts that are the same code, as first_difference() sees it, whatever number
/// the compiler has given to the unnamed namespaces of the file.
[[nodiscard]] std::string canonical_ptx(std::string_view ptx);

/// nvcc names what lies in unnamed namespaces after a number that changes with any letter of the
/// file. Here without it, in names and bytes alike; as it is if there are several such numbers, for
/// then some are a program's own.
[[nodiscard]] std::string without_module_number(std::string text);

}  // namespace cuco::toolchain

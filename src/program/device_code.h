// SPDX-License-Identifier: Apache-2.0
/// \file
/// A CUDA source taken apart: what only the device's compiler needs, and what the host's object
/// depends on. Two sources with the same host text differ in device code alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cuco::program {

struct DeviceSplit {
  /// The directives and comments before the first declaration, as they stand.
  std::string preamble;
  /// The source without functions of the host, line by line where it was.
  std::string device;
  /// The source without bodies of kernels and without functions of the device; comments and layout
  /// do not count.
  std::string host;
};

/// Nothing where there is any doubt: a directive inside a function, an unknown construct, a name
/// whose meaning depends on the place or the compiler.
[[nodiscard]] std::optional<DeviceSplit> split_device_code(std::string_view source);

}  // namespace cuco::program

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs that differ from one that nvcc has built in device code alone: only their PTX is made
/// anew, by NVRTC or by nvcc's own compiler of device code, and put into the other's object.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "program/device_code.h"
#include "toolchain/object_builder.h"

namespace cuco::toolchain {

class DeviceBuild {
 public:
  /// `host_identity`: all that the host's half depends on.
  DeviceBuild(const BuildSettings& settings,
              const program::DeviceSplit& split,
              std::string_view host_identity);

  /// Remembers what nvcc has made of this program (program.o and program.ptx in `folder`) for those
  /// that will differ from it in device code alone. `record`: of its frozen code, which is theirs.
  [[nodiscard]] Result<void> keep_base(const system::Path& folder, const std::string& record) const;

  /// Whether there is such a base.
  [[nodiscard]] bool has_base() const;

  /// This program's PTX by NVRTC. Nothing: it is for nvcc to do; also where it turns out that NVRTC
  /// makes other code of the base than nvcc did.
  [[nodiscard]] Result<std::optional<std::string>> ptx_by_nvrtc() const;

  /// Writes the base's object with this PTX instead of its own to `place`, and its record of frozen
  /// code. False: they do not fit.
  [[nodiscard]] Result<bool> build(std::string_view ptx,
                                   const system::Path& place,
                                   const system::Path& record_place) const;

 private:
  /// Whether NVRTC makes of the base's own text what nvcc made of it; tried once.
  [[nodiscard]] Result<bool> is_trusted(const std::string& nvcc_ptx) const;

  const BuildSettings& settings_;
  const program::DeviceSplit& split_;
  system::Path base_;  ///< Folder: program.o, program.ptx, device.cu, preamble.cu, verdict.
};

}  // namespace cuco::toolchain

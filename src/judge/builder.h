// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a candidate's text to an object that may be loaded: screen, build, object screen.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "candidate/outcome.h"
#include "judge/stages.h"
#include "toolchain/elf.h"
#include "toolchain/machine_code.h"
#include "toolchain/object_builder.h"

namespace cuco::judge {

/// The compiler, behind an interface so that the cascade is tested without nvcc.
class Builder {
 public:
  virtual ~Builder() = default;
  /// `device_only`: see BuildSettings.
  [[nodiscard]] virtual Result<toolchain::BuildResult> build(std::string_view source,
                                                             bool device_only) = 0;
  /// What the compiler saw of an object's frozen code; nothing: not known.
  [[nodiscard]] virtual Result<std::optional<toolchain::FrozenParts>> frozen(
      const system::Path& /*object*/) {
    return std::optional<toolchain::FrozenParts>();
  }
  /// What became of a program; nothing: not known.
  [[nodiscard]] virtual std::optional<toolchain::MachineCode> machine_code(
      const system::Path& /*object*/) {
    return std::nullopt;
  }
  /// What an object defines, imports and runs when it is loaded.
  [[nodiscard]] virtual Result<toolchain::ElfFacts> inspect(const system::Path& object) = 0;
};

[[nodiscard]] std::unique_ptr<Builder> make_builder(toolchain::BuildSettings settings);

/// The object, or why there is none to run.
using Built = std::variant<system::Path, candidate::Outcome>;

/// `seed`: whose frozen bytes the program must keep.
[[nodiscard]] Result<Built> build_screened(Builder& builder,
                                           std::string_view seed,
                                           const std::string& program,
                                           bool device_only,
                                           Stages* stages);

}  // namespace cuco::judge

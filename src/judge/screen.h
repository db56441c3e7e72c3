// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is refused without running it: cheap, explainable, and not the boundary (the sandbox is).
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "candidate/outcome.h"
#include "toolchain/elf.h"

namespace cuco::judge {

/// The source: frozen bytes as in `seed`, no macro that changes what frozen code means.
[[nodiscard]] Result<std::optional<candidate::ScreenRejected>> screen_source(
    std::string_view seed, std::string_view candidate);

/// The shared object: the three entry points, nothing that runs at load time but CUDA's own
/// registration, and no import beyond CUDA, NCCL and what plain computation needs.
[[nodiscard]] std::optional<candidate::ScreenRejected> screen_object(
    const toolchain::ElfFacts& facts);

}  // namespace cuco::judge

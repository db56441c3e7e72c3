// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is refused without running it: cheap, explainable, and not the boundary (the sandbox is).
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "candidate/outcome.h"
#include "program/preprocessed.h"
#include "toolchain/elf.h"

namespace cuco::judge {

/// The source: frozen bytes as in `seed`, and, for a quick answer, what plainly changes what frozen
/// code means. Whether something does is decided by screen_frozen.
[[nodiscard]] Result<std::optional<candidate::ScreenRejected>> screen_source(
    std::string_view seed, std::string_view candidate);

/// What the compiler saw of the frozen code, beside what it saw of the seed's.
[[nodiscard]] std::optional<candidate::ScreenRejected> screen_frozen(
    const program::FrozenText& seed, const program::FrozenText& candidate);

/// The shared object: the three entry points, nothing that runs at load time but CUDA's own
/// registration, and no import beyond CUDA, NCCL and what plain computation needs.
[[nodiscard]] std::optional<candidate::ScreenRejected> screen_object(
    const toolchain::ElfFacts& facts);

}  // namespace cuco::judge

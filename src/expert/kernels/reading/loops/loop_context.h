// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the rest of a kernel expects of an element loop. Its rounds go to other threads than
/// before: who uses what one thread has made has to have waited for all of them.
#pragma once

#include "base/result.h"
#include "expert/kernels/reading/loops/loop_accesses.h"

namespace cuco::expert::kernels {

/// The error says in one sentence what depends on which thread does which round.
[[nodiscard]] Result<void> check_context(const KernelBody& kernel,
                                         const ElementLoop& loop,
                                         const LoopAccesses& accesses);

}  // namespace cuco::expert::kernels

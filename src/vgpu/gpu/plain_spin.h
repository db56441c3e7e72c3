// SPDX-License-Identifier: Apache-2.0
/// \file
/// Warps that loop around plain loads, which the log of strong reads (spin.h) does not
/// see.
///
/// A loop of plain loads and a fence is a wait too. A warp that has written nothing and is at the
/// end of a quantum where and as it was at the end of an earlier one (places, registers and local
/// memory of all lanes) can only be freed by somebody else's write: it polls in growing
/// steps.
#pragma once

#include <cstddef>

#include "vgpu/gpu/spin.h"

namespace cuco::vgpu {

struct Split;
struct Warp;

/// Bytes of local memory of a warp up to which it is compared; writes to more count as progress.
inline constexpr std::size_t kMaxSpinLocal = std::size_t{1} << 20U;

/// The quantum of the running split is over: it sleeps if it loops without effect.
void note_quantum_end(Warp& w);

/// A clock is about to be read. A loop that only reads the clock is a delay: the clock runs
/// ahead in it, by a 64th of what it has waited at each read.
void note_clock_read(Warp& w);

/// The split was parked until then.
void note_poll_end(Warp& w, const Split& split, VTime when);
/// The split goes on without having been woken by a write.
void forget_watches(Warp& w, SpinLog& log);

}  // namespace cuco::vgpu

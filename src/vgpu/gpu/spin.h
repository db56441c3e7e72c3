// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recognises a split that spins: it keeps re-reading strong locations that do not change.
///
/// Between two writes of the warp ("progress") a split logs its strong reads. When it comes to the
/// same op again with the same lanes, addresses and values, its registers are compared with an
/// earlier visit (Brent's cycle search: the remembered visit moves to powers of two). Equal
/// registers mean that nothing but a write by somebody else can change its course: it is parked on
/// every location read since, and costs nothing until one is written. A loop that counts to 10,000
/// and starts again is found too. A loop that reads a clock never repeats; it polls on, in steps
/// that grow with the time it has waited already.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/gpu/observer.h"
#include "vgpu/lower/op.h"
#include "vgpu/memory/memory.h"
#include "vgpu/timing/time.h"

namespace cuco::vgpu {

struct SpinLog {
  struct Location {
    bool shared = false;
    Address address = 0;  ///< Canonical, or a shared offset.
    std::uint32_t bytes = 0;
    std::uint64_t content = 0;  ///< Digest of the bytes when read.
  };
  std::uint64_t progress = ~std::uint64_t{0};  ///< Warp::progress the log belongs to.
  const Op* anchor = nullptr;                  ///< The op whose visits are compared.
  std::uint32_t lanes = 0;
  std::uint64_t digest = 0;  ///< Addresses and values at the anchor.
  std::uint64_t state = 0;   ///< Registers at the remembered visit.
  std::uint64_t visits = 0;
  std::uint64_t remember_at = 1;  ///< Visit at which to remember anew.
  VTime began = 0;
  std::vector<Location> locations;  ///< Read since the remembered visit, without repeats.
  bool overflow = false;            ///< Too many of them.

  // While parked.
  std::uint64_t ticket = 0;  ///< 0: not parked.
  const Op* parked_at = nullptr;
  std::vector<WatchId> watches;
};

/// Forgets the watches of every parked split: the warp is going away.
void drop_watches(Warp& w);

}  // namespace cuco::vgpu

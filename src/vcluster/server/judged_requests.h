// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the process of a judged program may not ask for, although an ordinary one may.
///
/// Its messages need not come from our libraries: it has the socket, and can write to it what it
/// likes. Whatever would let it choose its own clock, act while the judge holds all ranks, wait
/// for its peers at no cost, touch device memory from the host, or launch what is not played as it
/// is meant ends it.
#pragma once

#include <optional>
#include <string>

#include "vcluster/host/processes.h"

namespace cuco::vcluster {

/// Why a judged run refuses this request; nothing: it may be served.
[[nodiscard]] std::optional<std::string> why_not_in_judged_run(const Processes& processes,
                                                               const Session& session,
                                                               const wire::Frame& frame);

}  // namespace cuco::vcluster

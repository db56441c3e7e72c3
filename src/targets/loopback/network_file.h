// SPDX-License-Identifier: Apache-2.0
/// \file
/// The network that loopback models, as its library reads it: one key=value per line, so that what
/// is loaded into a user's program needs no parser. Rates are bytes per second of a program's own
/// bytes, times picoseconds.
#pragma once

#include <string>

#include "fabric/topology.h"

namespace cuco::targets {

[[nodiscard]] std::string network_text(const fabric::Topology& topology);

}  // namespace cuco::targets

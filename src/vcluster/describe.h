// SPDX-License-Identifier: Apache-2.0
/// \file
/// Words for reports.
#pragma once

#include <string>

#include "wire/messages_host.h"

namespace cuco::vcluster {

/// "the end of a thread", "a mutex"…
[[nodiscard]] std::string describe(wire::HostWait kind);

}  // namespace cuco::vcluster

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Words for reports.
#pragma once

#include <string>

#include "shims/wire/messages_host.h"

namespace cuco::vcluster {

class Cluster;
class Session;

/// "the end of a thread", "a mutex"…
[[nodiscard]] std::string describe(wire::HostWait kind);

/// A thread is blocked in what nobody can predict: the user is told, once in a run.
void say_not_repeatable(Cluster& cluster, const Session& session);

}  // namespace cuco::vcluster

// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/describe.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "vcluster/core/cluster.h"

namespace cuco::vcluster {

void say_not_repeatable(Cluster& cluster, const Session& session) {
  if (!std::exchange(cluster.repeatable, false)) return;
  fmt::print(stderr, "cuco: note: this run may differ when repeated: {} thread {} waits for {}\n",
             session.process->name(), session.thread, describe(session.waits_for()));
}

}  // namespace cuco::vcluster

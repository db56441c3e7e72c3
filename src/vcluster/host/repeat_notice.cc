// SPDX-License-Identifier: Apache-2.0
#include "vcluster/host/repeat_notice.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "vcluster/host/client_process.h"

namespace cuco::vcluster {

void RepeatNotice::give(const Session& session) {
  if (std::exchange(given_, true)) return;
  fmt::print(stderr, "cuco: note: this run may differ when repeated: {} thread {} waits for {}\n",
             session.process->name(), session.thread, describe(session.waits_for()));
}

}  // namespace cuco::vcluster

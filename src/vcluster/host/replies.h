// SPDX-License-Identifier: Apache-2.0
/// \file
/// Answers of CUDA calls: now, or when work is done.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "vcluster/core/work.h"
#include "vcluster/host/client_process.h"
#include "vcluster/host/sessions.h"

namespace cuco::vcluster {

/// Replies with `status`, or with the context's sticky error, and marks waiting output.
void reply_status(Session& session, const Context* context, std::int32_t status);

class Replies {
 public:
  Replies(WorkGraph& works, const Sessions& sessions) : works_(works), sessions_(sessions) {}

  /// Parks the session until all works are done, then replies with its context's state. `what` is
  /// for people: "stream 17 (cudaStreamSynchronize)".
  void when_done(Session& session,
                 std::span<const WorkPtr> works,
                 const Context* context,
                 std::string what) const;

 private:
  WorkGraph& works_;
  const Sessions& sessions_;
};

}  // namespace cuco::vcluster

// SPDX-License-Identifier: Apache-2.0
/// \file
/// A note to the user, at most once in a run: something that nobody can predict decided an order.
#pragma once

#include "vcluster/host/session.h"

namespace cuco::vcluster {

class RepeatNotice {
 public:
  /// The thread is blocked in such a thing.
  void give(const Session& session);

 private:
  bool given_ = false;
};

}  // namespace cuco::vcluster

// SPDX-License-Identifier: Apache-2.0
/// \file
/// NCCL calls on their way: at once, or collected between ncclGroupStart and ncclGroupEnd.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "loopback/nccl/clique.h"
#include "nccl_core/collective.h"
#include "nccl_core/exported_twice.h"

namespace cuco::loopback {

using nccl_core::Code;

/// A set-up call, made when the group ends.
struct SetUp {
  ncclComm* comm = nullptr;  ///< Gets the error text; may be null.
  /// Joins the others; null: it was over at once, with this problem or none.
  std::function<std::shared_ptr<Agreement>(nccl_core::Check*)> join;
  /// Called when it is over, also when it failed.
  std::function<void(const nccl_core::Check&)> finish;
};

/// A collective, send or receive.
struct Operation {
  ncclComm* comm = nullptr;
  nccl_core::Call call;
  Address scalar_address = 0;
  CUstream stream = nullptr;
};

/// Now, or with the thread's group. What NCCL would return at this point.
Code submit(SetUp call);
Code submit(const Operation& operation);

Code group_start();
Code group_end();
/// Forgets the group's calls.
Code group_forget();

/// Prints and remembers a failure, returns its code; within a group, also of ncclGroupEnd.
Code fail(ncclComm* comm, const nccl_core::Problem& problem);
[[nodiscard]] const char* last_error(const ncclComm* comm);

/// Whether a non-blocking communicator's call has ended, and how.
[[nodiscard]] Code poll(ncclComm& comm);

/// Puts operations of one communicator into their streams, in order.
[[nodiscard]] nccl_core::Check launch(ncclComm& comm, const std::vector<Operation>& operations);

}  // namespace cuco::loopback

// SPDX-License-Identifier: Apache-2.0
#include "loopback/nccl/pending_calls.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "loopback/nccl/watchdog.h"

namespace cuco::loopback {

using nccl_core::Check;
using nccl_core::Problem;

namespace {

struct ThreadState {
  int depth = 0;
  std::vector<SetUp> set_ups;
  std::vector<Operation> operations;
  Code first_error = Code::Success;
  std::string last_error;
};

// NCCL's groups belong to the calling thread by definition.
thread_local ThreadState state;

Code keep_first(Code result, Code next) {
  return result == Code::Success ? next : result;
}

Code finish(const SetUp& call, const Check& outcome) {
  const Code result = outcome ? fail(call.comm, *outcome) : Code::Success;
  if (call.finish) call.finish(outcome);  // This may free the communicator.
  return result;
}

/// All of them join before one of them waits: a thread may hold several ranks.
Code run(std::vector<SetUp> calls) {
  struct Joined {
    std::shared_ptr<Agreement> agreement;
    Check problem;
  };
  std::vector<Joined> joined;
  for (const SetUp& call : calls) {
    Joined& one = joined.emplace_back();
    one.agreement = call.join(&one.problem);
  }
  Code result = Code::Success;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ncclComm* comm = calls[i].comm;
    if (joined[i].problem || joined[i].agreement == nullptr) {
      result = keep_first(result, finish(calls[i], joined[i].problem));
      continue;
    }
    if (comm != nullptr && !comm->is_blocking && !joined[i].agreement->is_over()) {
      comm->in_flight = joined[i].agreement;
      comm->finish = calls[i].finish;
      result = keep_first(result, Code::InProgress);
      continue;
    }
    result = keep_first(result, finish(calls[i], joined[i].agreement->wait()));
    note_progress();
  }
  return result;
}

Code run(const std::vector<Operation>& operations) {
  Code result = Code::Success;
  std::vector<ncclComm*> comms;
  for (const Operation& operation : operations) {
    if (std::find(comms.begin(), comms.end(), operation.comm) == comms.end())
      comms.push_back(operation.comm);
  }
  for (ncclComm* comm : comms) {
    std::vector<Operation> mine;
    for (const Operation& operation : operations) {
      if (operation.comm == comm) mine.push_back(operation);
    }
    if (const Check wrong = launch(*comm, mine)) {
      Assembly::get().break_up(comm->place, *wrong);
      result = keep_first(result, fail(comm, *wrong));
    }
  }
  return result;
}

}  // namespace

Code fail(ncclComm* comm, const Problem& problem) {
  if (comm != nullptr) {
    std::fprintf(stderr, "cuco loopback: NCCL WARN rank %d: %s\n", comm->rank,
                 problem.message.c_str());
    comm->last_error = problem.message;
  } else {
    std::fprintf(stderr, "cuco loopback: NCCL WARN %s\n", problem.message.c_str());
  }
  state.last_error = problem.message;
  if (state.depth > 0 && state.first_error == Code::Success) state.first_error = problem.code;
  return problem.code;
}

const char* last_error(const ncclComm* comm) {
  return comm != nullptr ? comm->last_error.c_str() : state.last_error.c_str();
}

Code poll(ncclComm& comm) {
  if (comm.in_flight != nullptr) {
    if (!comm.in_flight->is_over()) return Code::InProgress;
    const Check outcome = comm.in_flight->wait();
    comm.in_flight = nullptr;
    if (comm.finish) std::exchange(comm.finish, {})(outcome);
    comm.failed = outcome ? fail(&comm, *outcome) : Code::Success;
  }
  if (comm.failed != Code::Success) return comm.failed;
  if (comm.place.number == 0) return Code::Success;
  const Check broken = Assembly::get().why_broken(comm.place);
  if (broken) comm.last_error = broken->message;
  return broken ? broken->code : Code::Success;
}

Code submit(SetUp call) {
  if (call.comm != nullptr && call.comm->in_flight != nullptr &&
      poll(*call.comm) == Code::InProgress) {
    return fail(call.comm, {Code::InvalidArgument,
                            "the communicator's previous call is still in progress: wait until "
                            "ncclCommGetAsyncError no longer says ncclInProgress"});
  }
  if (state.depth > 0) {
    state.set_ups.push_back(std::move(call));
    return Code::Success;
  }
  std::vector<SetUp> one;
  one.push_back(std::move(call));
  return run(std::move(one));
}

Code submit(const Operation& operation) {
  if (state.depth > 0) {
    state.operations.push_back(operation);
    return Code::Success;
  }
  return run(std::vector<Operation>{operation});
}

Code group_start() {
  ++state.depth;
  return Code::Success;
}

Code group_end() {
  if (state.depth == 0)
    return fail(nullptr, {Code::InvalidUsage, "ncclGroupEnd: not in a group call"});
  if (--state.depth > 0) return Code::Success;
  const Code error = std::exchange(state.first_error, Code::Success);
  std::vector<SetUp> set_ups = std::exchange(state.set_ups, {});
  const std::vector<Operation> operations = std::exchange(state.operations, {});
  if (error != Code::Success) {
    // As in NCCL, one bad call spoils the group: nothing of it is made.
    for (const SetUp& call : set_ups) {
      if (call.finish) call.finish(Problem{error, "another call of the group failed"});
    }
    return error;
  }
  const Code result = run(std::move(set_ups));
  return keep_first(result, run(operations));
}

Code group_forget() {
  if (state.depth == 0)
    return fail(nullptr, {Code::InvalidUsage, "ncclGroupSimulateEnd: not in a group call"});
  if (--state.depth > 0) return Code::Success;
  state.set_ups.clear();
  state.operations.clear();
  return std::exchange(state.first_error, Code::Success);
}

}  // namespace cuco::loopback

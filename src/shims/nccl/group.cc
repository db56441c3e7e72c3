// SPDX-License-Identifier: Apache-2.0
#include "shims/nccl/group.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <utility>

#include <dlfcn.h>

#include "base/printable.h"

namespace cuco::nccl {
namespace {

struct ThreadState {
  int depth = 0;
  std::vector<PendingCall> calls;
  Code first_error = Code::Success;
  std::string last_error;
};

// NCCL's groups belong to the calling thread by definition.
thread_local ThreadState state;

const wire::ClientApi* find_client() {
  void* symbol = ::dlsym(RTLD_DEFAULT, wire::kClientApiSymbol);
  if (symbol == nullptr) {
    // A program may have loaded libnccl before it used CUDA.
    if (void* runtime = ::dlopen("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL)) {
      symbol = ::dlsym(runtime, wire::kClientApiSymbol);
    }
  }
  if (symbol == nullptr) {
    std::fputs(
        "cuco: libnccl.so.2 of the virtual cluster needs its libcudart.so.13; link with "
        "nvcc -cudart shared and start the program with cuco run\n",
        stderr);
    return nullptr;
  }
  return reinterpret_cast<wire::ClientApiFunction>(symbol)();
}

/// Splits the reply's tail into answers and hands them out. The first failure is the result.
Code hand_out(std::vector<PendingCall>& calls, wire::Bytes tail) {
  Code result = Code::Success;
  for (PendingCall& call : calls) {
    const auto answer = wire::read_front<wire::NcclAnswer>(tail);
    if (!answer || tail.size() - sizeof *answer < std::size_t{answer->bytes} + answer->text_bytes) {
      return fail(call.comm, {Code::InternalError, "the virtual cluster sent a malformed answer"});
    }
    tail = tail.subspan(sizeof *answer);
    const wire::Bytes payload = tail.first(answer->bytes);
    const wire::Bytes text = tail.subspan(answer->bytes, answer->text_bytes);
    tail = tail.subspan(std::size_t{answer->bytes} + answer->text_bytes);
    const auto code = static_cast<Code>(answer->code);
    if (code != Code::Success) {
      fail(call.comm, {code, std::string(wire::text_of(text))});
      if (result == Code::Success) result = code;
    }
    if (call.on_answer) call.on_answer(code, payload);
  }
  return result;
}

/// What a non-blocking communicator does not wait for: calls that other ranks have to make, too.
bool may_stay_in_flight(const PendingCall& call) {
  using enum wire::NcclItemKind;
  const ncclComm* comm = call.made != nullptr ? call.made : call.comm;
  if (comm == nullptr || comm->is_blocking) return false;
  return call.kind == Init || call.kind == Split || call.kind == Shrink || call.kind == Finalize ||
         call.kind == WindowRegister || call.kind == DevCommCreate;
}

std::uint64_t new_ticket() {
  static std::atomic<std::uint64_t> last{0};  // Numbers of this process.
  return ++last;
}

Code keep_in_flight(std::uint64_t ticket, std::vector<PendingCall> calls) {
  auto group = std::make_shared<InFlight>(InFlight{ticket, std::move(calls)});
  for (const PendingCall& call : group->calls) {
    for (ncclComm* comm : {call.made, call.comm}) {
      if (comm != nullptr) comm->in_flight = group;
    }
  }
  return Code::InProgress;
}

Code send(std::vector<PendingCall> calls, bool simulate, double* seconds) {
  if (calls.empty()) return Code::Success;
  const wire::ClientApi* api = client();
  if (api == nullptr) return Code::SystemError;
  wire::NcclSubmit request;
  if (!simulate && std::any_of(calls.begin(), calls.end(), may_stay_in_flight)) {
    request.ticket = new_ticket();
  }
  request.count = static_cast<std::uint32_t>(calls.size());
  request.simulate = simulate ? 1 : 0;
  std::vector<std::byte> tail;
  for (const PendingCall& call : calls) {
    wire::append(tail, wire::NcclItem{call.kind, static_cast<std::uint32_t>(call.payload.size())});
    tail.insert(tail.end(), call.payload.begin(), call.payload.end());
  }
  wire::NcclSubmit::Reply reply;
  wire::Bytes answers;
  const std::int32_t status = wire::call(*api, request, &reply, tail, &answers);
  if (status != wire::kSuccess) {
    return fail(calls.front().comm,
                {Code::UnhandledCudaError,
                 "the virtual cluster refused the call: CUDA error " + std::to_string(status)});
  }
  if (seconds != nullptr) *seconds = static_cast<double>(reply.predicted_ps) * 1e-12;
  if (simulate) return Code::Success;
  if (reply.pending != 0) return keep_in_flight(request.ticket, std::move(calls));
  // The answers live in the connection until the next call, which on_answer must not make.
  return hand_out(calls, answers);
}

}  // namespace

const wire::ClientApi* client() {
  static const wire::ClientApi* const kApi = find_client();
  return kApi;
}

Code fail(ncclComm* comm, nccl_core::Problem problem) {
  if (comm != nullptr) {
    std::fprintf(stderr, "cuco: NCCL WARN rank %d: %s\n", comm->rank,
                 printable(problem.message).c_str());
    comm->last_error = problem.message;
  } else {
    std::fprintf(stderr, "cuco: NCCL WARN %s\n", printable(problem.message).c_str());
  }
  state.last_error = std::move(problem.message);
  if (state.depth > 0 && state.first_error == Code::Success) state.first_error = problem.code;
  return problem.code;
}

Code poll(ncclComm& comm) {
  const std::shared_ptr<InFlight> group = comm.in_flight;
  if (group == nullptr) return comm.failed;
  const wire::ClientApi* api = client();
  if (api == nullptr) return Code::SystemError;
  wire::NcclPoll::Reply reply;
  wire::Bytes answers;
  if (wire::call(*api, wire::NcclPoll{group->ticket}, &reply, {}, &answers) != wire::kSuccess) {
    return Code::SystemError;
  }
  if (reply.pending != 0) return Code::InProgress;
  for (const PendingCall& call : group->calls) {
    for (ncclComm* member : {call.made, call.comm}) {
      if (member != nullptr) member->in_flight = nullptr;
    }
  }
  const Code code = hand_out(group->calls, answers);
  comm.failed = code;
  return code;
}

void abandon(ncclComm& comm) {
  if (comm.in_flight == nullptr) return;
  for (PendingCall& call : comm.in_flight->calls) {
    if (call.comm != &comm && call.made != &comm) continue;
    call.comm = nullptr;
    call.made = nullptr;
    call.on_answer = nullptr;
  }
  comm.in_flight = nullptr;
}

Code enqueue(PendingCall call) {
  ncclComm* comm = call.comm;
  if (comm != nullptr && comm->in_flight != nullptr) {
    if (poll(*comm) == Code::InProgress) {
      return fail(comm, {Code::InvalidArgument,
                         "the communicator's previous call is still in progress: wait until "
                         "ncclCommGetAsyncError no longer says ncclInProgress"});
    }
    // It may have got its name only now; every payload but that of Init starts with it.
    std::memcpy(call.payload.data(), &comm->handle, sizeof comm->handle);
  }
  if (state.depth > 0) {
    state.calls.push_back(std::move(call));
    return Code::Success;
  }
  std::vector<PendingCall> one;
  one.push_back(std::move(call));
  return send(std::move(one), false, nullptr);
}

Code group_start() {
  ++state.depth;
  return Code::Success;
}

Code group_end() {
  if (state.depth == 0) {
    return fail(nullptr, {Code::InvalidUsage, "ncclGroupEnd: not in a group call"});
  }
  if (--state.depth > 0) return Code::Success;
  const Code error = std::exchange(state.first_error, Code::Success);
  std::vector<PendingCall> calls = std::exchange(state.calls, {});
  if (error != Code::Success) {
    // As in NCCL, one bad call spoils the group: nothing of it is sent.
    for (PendingCall& call : calls) {
      if (call.on_answer) call.on_answer(error, {});
    }
    return error;
  }
  return send(std::move(calls), false, nullptr);
}

Code group_simulate_end(double* seconds) {
  if (state.depth == 0) {
    return fail(nullptr, {Code::InvalidUsage, "ncclGroupSimulateEnd: not in a group call"});
  }
  if (--state.depth > 0) return Code::Success;
  const Code error = std::exchange(state.first_error, Code::Success);
  std::vector<PendingCall> calls = std::exchange(state.calls, {});
  return error == Code::Success ? send(std::move(calls), true, seconds) : error;
}

const char* last_error(const ncclComm* comm) {
  return comm != nullptr ? comm->last_error.c_str() : state.last_error.c_str();
}

}  // namespace cuco::nccl

// SPDX-License-Identifier: Apache-2.0
// Host-driven collectives, sends and receives: one kernel per collective, one per group of sends
// and receives, on the rank's own multiprocessors and in its stream.
#include <algorithm>
#include <cstring>

#include "loopback/gpu/divided_gpu.h"
#include "loopback/gpu/rank_streams.h"
#include "loopback/gpu/settings.h"
#include "loopback/nccl/pending_calls.h"

namespace cuco::loopback {

using nccl_core::Call;
using nccl_core::Check;
using nccl_core::Kind;
using nccl_core::Problem;

namespace {

constexpr std::uint64_t kBytesPerBlock = std::uint64_t{32} << 10U;
constexpr unsigned kThreads = 512;
// Few enough to be resident beside a kernel of the program's. One of them only watches.
constexpr unsigned kPointBlocks = 9;

/// The same on all ranks, as block b of one meets block b of the others.
unsigned blocks_for(const ncclComm& comm, const Call& call) {
  int sms = static_cast<int>(kMaxBlocks);
  for (const int device : comm.place.devices)
    sms = std::min(sms, Machine::get().sms_of(device));
  const std::uint64_t bytes =
      call.count * nccl_core::size_of(call.type) * static_cast<std::uint64_t>(comm.ranks);
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(bytes / kBytesPerBlock, 1, static_cast<std::uint64_t>(sms)));
}

/// Operations of one communicator follow each other, whatever their streams.
class InStream {
 public:
  InStream(ncclComm& comm, CUstream stream, const char* what)
      : comm_(comm),
        stream_(stream),
        what_(what),
        scope_(Machine::get().rank(comm.device).context) {
    const Driver& d = driver();
    Streams::get().before(comm.device, stream);
    if (!comm.has_last_stream || comm.last_stream == stream) return;
    // Between a stream that captures and one that does not, the program orders them itself.
    if (Streams::is_capturing(stream) || Streams::is_capturing(comm.last_stream)) return;
    if (comm.event == nullptr) (void)d.cuEventCreate(&comm.event, CU_EVENT_DISABLE_TIMING);
    if (d.cuEventRecord(comm.event, comm.last_stream) == CUDA_SUCCESS)
      (void)d.cuStreamWaitEvent(stream, comm.event, 0);
  }
  InStream(const InStream&) = delete;
  InStream& operator=(const InStream&) = delete;
  ~InStream() {
    comm_.has_last_stream = !Streams::is_capturing(stream_);
    comm_.last_stream = stream_;
    Streams::get().after(comm_.device, stream_, what_);
  }

 private:
  ncclComm& comm_;
  CUstream stream_;
  const char* what_;
  ScopedContext scope_;
};

Check check_launch(CUresult result) {
  if (result == CUDA_SUCCESS) return std::nullopt;
  return Problem{Code::UnhandledCudaError,
                 std::string("the collective's kernel cannot be launched: ") + text_of(result)};
}

Check launch_collective(ncclComm& comm, const Operation& operation) {
  const Call& call = operation.call;
  const InStream in_stream(comm, operation.stream, nccl_core::name_of(call.kind).data());
  CollectiveArgs args;
  args.view = comm.place.view;
  args.kind = static_cast<std::uint32_t>(call.kind);
  args.op = static_cast<std::uint32_t>(call.op);
  args.root = call.root;
  args.is_paced = settings().paces() ? 1 : 0;
  args.element = static_cast<std::uint32_t>(nccl_core::size_of(call.type));
  args.count = call.count;
  args.send = call.send;
  args.recv = call.recv;
  std::memcpy(&args.scalar, call.scalar.data(), sizeof args.scalar);
  args.scalar_address = operation.scalar_address;
  return check_launch(
      Machine::get().launch(Machine::get().collective_kernel(static_cast<int>(call.type)),
                            blocks_for(comm, call), kThreads, operation.stream, &args));
}

Check launch_points(ncclComm& comm, const std::vector<Operation>& operations) {
  if (operations.size() > kOpsPerGroup) {
    return Problem{Code::InvalidUsage, "a group of " + std::to_string(operations.size()) +
                                           " sends and receives: loopback takes up to " +
                                           std::to_string(kOpsPerGroup)};
  }
  PointArgs args;
  args.view = comm.place.view;
  args.is_paced = settings().paces() ? 1 : 0;
  for (const Operation& operation : operations) {
    PointOp& op = args.op[args.ops++];
    const bool sends = operation.call.kind == Kind::Send;
    op.address = sends ? operation.call.send : operation.call.recv;
    op.bytes = operation.call.count * nccl_core::size_of(operation.call.type);
    op.peer = operation.call.root;
    op.is_send = sends ? 1 : 0;
    for (std::uint32_t i = 0; i + 1 < args.ops; ++i) {
      if (args.op[i].peer == op.peer && args.op[i].is_send == op.is_send) ++op.ordinal;
    }
  }
  const CUstream stream = operations.front().stream;
  // Further streams of the group wait for the same kernel, and it for them.
  for (const Operation& operation : operations) {
    if (operation.stream != stream) const InStream join(comm, operation.stream, "");
  }
  Check wrong;
  {
    const InStream in_stream(comm, stream, "ncclSend and ncclRecv");
    wrong = check_launch(Machine::get().launch(Machine::get().points_kernel(), kPointBlocks,
                                               kThreads, stream, &args));
  }
  for (const Operation& operation : operations) {
    if (operation.stream != stream) const InStream join(comm, operation.stream, "");
  }
  return wrong;
}

}  // namespace

Check launch(ncclComm& comm, const std::vector<Operation>& operations) {
  std::vector<Operation> points;
  for (const Operation& operation : operations) {
    if (Check wrong = Assembly::get().log(comm.place, operation.call)) return wrong;
  }
  for (const Operation& operation : operations) {
    if (nccl_core::is_point_to_point(operation.call.kind)) {
      points.push_back(operation);
    } else if (Check wrong = launch_collective(comm, operation)) {
      return wrong;
    }
  }
  return points.empty() ? std::nullopt : launch_points(comm, points);
}

}  // namespace cuco::loopback

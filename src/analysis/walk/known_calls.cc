// SPDX-License-Identifier: Apache-2.0
#include "analysis/walk/known_calls.h"

#include <algorithm>

namespace cuco::analysis {
namespace {
using Kind = OperationKind;

constexpr KnownCall allocates(std::string_view name, ObjectKind makes, int size, int stream = -1) {
  return {.name = name,
          .kind = Kind::Allocate,
          .made = 0,
          .makes = makes,
          .size = size,
          .stream = stream};
}
constexpr KnownCall creates(std::string_view name, int made, ObjectKind makes, int from = -1) {
  return {.name = name, .kind = Kind::Create, .made = made, .makes = makes, .communicator = from};
}
constexpr KnownCall ends(std::string_view name, Kind kind, int used, int stream = -1) {
  return {.name = name, .kind = kind, .stream = stream, .used = used};
}
constexpr KnownCall copies(std::string_view name, int written, int read, int size, int stream) {
  return {.name = name,
          .kind = Kind::Copy,
          .size = size,
          .read = read,
          .written = written,
          .stream = stream};
}
constexpr KnownCall fills(std::string_view name, int size, int stream) {
  return {.name = name, .kind = Kind::Fill, .size = size, .written = 0, .stream = stream};
}
constexpr KnownCall plain(std::string_view name, Kind kind, int stream = -1, int event = -1) {
  return {.name = name, .kind = kind, .stream = stream, .event = event};
}
/// send, receive, count, type, then [operation], [root or peer], communicator, stream.
constexpr KnownCall communicates(
    std::string_view name, int send, int receive, int operation, int peer) {
  const int count = send >= 0 && receive >= 0 ? 2 : 1;
  const int last = std::max({count + 1, operation, peer});
  return {.name = name,
          .kind = Kind::Communicate,
          .read = send,
          .written = receive,
          .stream = last + 2,
          .communicator = last + 1,
          .count = count,
          .type = count + 1,
          .operation = operation,
          .peer = peer};
}

constexpr auto kDevice = ObjectKind::DeviceMemory;
constexpr auto kHost = ObjectKind::HostMemory;

constexpr KnownCall kCalls[] = {
    communicates("ncclAllGather", 0, 1, -1, -1),
    communicates("ncclAllReduce", 0, 1, 4, -1),
    communicates("ncclReduceScatter", 0, 1, 4, -1),
    communicates("ncclBroadcast", 0, 1, -1, 4),
    communicates("ncclBcast", -1, 0, -1, 3),
    communicates("ncclReduce", 0, 1, 4, 5),
    communicates("ncclAlltoAll", 0, 1, -1, -1),
    communicates("ncclGather", 0, 1, -1, 4),
    communicates("ncclScatter", 0, 1, -1, 4),
    communicates("ncclSend", 0, -1, -1, 3),
    communicates("ncclRecv", -1, 0, -1, 3),

    allocates("cudaMalloc", kDevice, 1),
    allocates("cudaMallocAsync", kDevice, 1, 2),
    allocates("cudaMallocFromPoolAsync", kDevice, 1, 3),
    allocates("cudaMallocManaged", kDevice, 1),
    allocates("cudaMallocPitch", kDevice, 2),
    allocates("ncclMemAlloc", kDevice, 1),
    allocates("cudaMallocHost", kHost, 1),
    allocates("cudaHostAlloc", kHost, 1),
    ends("cudaFree", Kind::Release, 0),
    ends("cudaFreeAsync", Kind::Release, 0, 1),
    ends("cudaFreeHost", Kind::Release, 0),
    ends("ncclMemFree", Kind::Release, 0),

    creates("cudaStreamCreate", 0, ObjectKind::Stream),
    creates("cudaStreamCreateWithFlags", 0, ObjectKind::Stream),
    creates("cudaStreamCreateWithPriority", 0, ObjectKind::Stream),
    creates("cudaEventCreate", 0, ObjectKind::Event),
    creates("cudaEventCreateWithFlags", 0, ObjectKind::Event),
    creates("ncclCommInitRank", 0, ObjectKind::Communicator),
    creates("ncclCommInitRankConfig", 0, ObjectKind::Communicator),
    creates("ncclCommInitRankScalable", 0, ObjectKind::Communicator),
    creates("ncclCommInitAll", 0, ObjectKind::Communicator),
    creates("ncclCommSplit", 3, ObjectKind::Communicator, 0),
    creates("ncclDevCommCreate", 2, ObjectKind::DeviceCommunicator, 0),
    {.name = "ncclCommWindowRegister",
     .kind = Kind::Create,
     .made = 3,
     .makes = ObjectKind::Window,
     .size = 2,
     .communicator = 0,
     .used = 1},
    ends("cudaStreamDestroy", Kind::Destroy, 0),
    ends("cudaEventDestroy", Kind::Destroy, 0),
    ends("ncclCommDestroy", Kind::Destroy, 0),
    ends("ncclCommAbort", Kind::Destroy, 0),
    ends("ncclCommFinalize", Kind::Destroy, 0),
    ends("ncclCommWindowDeregister", Kind::Destroy, 1),
    ends("ncclDevCommDestroy", Kind::Destroy, 1),

    copies("cudaMemcpy", 0, 1, 2, -1),
    copies("cudaMemcpyAsync", 0, 1, 2, 4),
    copies("cudaMemcpyPeer", 0, 2, 4, -1),
    copies("cudaMemcpyPeerAsync", 0, 2, 4, 5),
    copies("cudaMemcpy2D", 0, 2, 5, -1),
    copies("cudaMemcpy2DAsync", 0, 2, 5, 7),
    fills("cudaMemset", 2, -1),
    fills("cudaMemsetAsync", 2, 3),
    fills("cudaMemset2D", 4, -1),
    fills("cudaMemset2DAsync", 4, 5),

    plain("cudaEventRecord", Kind::RecordEvent, 1, 0),
    plain("cudaEventRecordWithFlags", Kind::RecordEvent, 1, 0),
    plain("cudaStreamWaitEvent", Kind::WaitEvent, 0, 1),
    plain("cudaStreamSynchronize", Kind::Wait, 0),
    plain("cudaDeviceSynchronize", Kind::Wait),
    plain("cudaEventSynchronize", Kind::Wait, -1, 0),
    plain("ncclGroupStart", Kind::BeginGroup),
    plain("ncclGroupEnd", Kind::EndGroup),
    plain("cudaStreamBeginCapture", Kind::Graph, 0),
    plain("cudaStreamEndCapture", Kind::Graph, 0),
    plain("cudaGraphInstantiate", Kind::Graph),
    plain("cudaGraphLaunch", Kind::Graph, 1),
    plain("cudaSetDevice", Kind::SelectDevice),
    {.name = "cudaEventElapsedTime", .kind = Kind::Clock, .event = 1, .used = 2},
    plain("MPI_Wtime", Kind::Clock),
    plain("omp_get_wtime", Kind::Clock),
    plain("now", Kind::Clock),
    plain("clock_gettime", Kind::Clock),
    plain("gettimeofday", Kind::Clock),
};

constexpr KnownCall kMpi = plain("MPI", Kind::Mpi);

}  // namespace

const KnownCall* known_call(std::string_view name) {
  const auto* found = std::ranges::find(kCalls, name, &KnownCall::name);
  if (found != std::end(kCalls)) return found;
  // What gives up is no part of what a program does.
  return name.starts_with("MPI_") && name != "MPI_Abort" ? &kMpi : nullptr;
}

}  // namespace cuco::analysis

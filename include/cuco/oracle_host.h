/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's side of oracle_device.h: calls of CUDA do at once what they ask for, calls of NCCL
 * when all ranks have made them.
 */
#ifndef CUCO_ORACLE_HOST_H
#define CUCO_ORACLE_HOST_H

enum cudaError_t { cudaSuccess };
enum cudaMemcpyKind { cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum ncclResult_t { ncclSuccess };
enum ncclDataType_t {
  ncclFloat,
  ncclFloat32 = ncclFloat,
  ncclInt,
  ncclInt32 = ncclInt,
  ncclUint32
};
enum ncclRedOp_t { ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg };
using cudaStream_t = void*;
using cudaEvent_t = void*;
using ncclComm_t = void*;

inline const char* cudaGetErrorString(cudaError_t) {
  return "";
}
inline const char* ncclGetErrorString(ncclResult_t) {
  return "";
}
inline cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
inline cudaError_t cudaPeekAtLastError() {
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) {
  return cudaSuccess;
}
/* Fills with zeros are fills with zeros for a Number, too; others are not. */
inline cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  if (value != 0) std::abort();
  std::memset(to, 0, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t = nullptr) {
  return cudaMemset(to, value, bytes);
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memmove(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}

namespace cuco_oracle {

/* What the ranks say to each other. */
struct Network {
  struct Call {
    const void* send;
    void* receive;
  };
  explicit Network(int ranks) : calls(static_cast<std::size_t>(ranks)) { gate.members = ranks; }
  int ranks() const { return static_cast<int>(calls.size()); }

  Gate gate;
  std::vector<Call> calls;
  std::map<std::pair<int, int>, std::deque<std::vector<unsigned char>>> messages;
  static inline Network* current = nullptr;
};

inline std::size_t size_of(ncclDataType_t type) {
  return type == ncclFloat ? sizeof(Number) : 4;
}

template <typename T>
T combined(T a, T b, ncclRedOp_t operation) {
  return operation == ncclProd  ? a * b
         : operation == ncclMax ? (a < b ? b : a)
         : operation == ncclMin ? (b < a ? b : a)
                                : a + b;
}

/* Elements [first, first + count) of all ranks, as one. */
template <typename T>
std::vector<T> reduced(const std::vector<Network::Call>& calls,
                       std::size_t first,
                       std::size_t count,
                       ncclRedOp_t operation) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    T sum = static_cast<const T*>(calls[0].send)[first + i];
    for (std::size_t r = 1; r < calls.size(); ++r)
      sum = combined(sum, static_cast<const T*>(calls[r].send)[first + i], operation);
    if (operation == ncclAvg) sum = sum / T(calls.size());
    result[i] = sum;
  }
  return result;
}

/* All ranks arrive, each takes what `what` returns as bytes, and nobody goes on before all have. */
template <typename What>
ncclResult_t together(const void* send, void* receive, const What& what) {
  Network& network = *Network::current;
  const int rank = Crew::member();
  network.calls[static_cast<std::size_t>(rank)] = {send, receive};
  network.gate.pass();
  const auto bytes = what(network.calls, rank);
  network.gate.pass();
  if (!bytes.empty()) std::memcpy(receive, bytes.data(), bytes.size());
  network.gate.pass();
  return ncclSuccess;
}

using Calls = std::vector<Network::Call>;
using Bytes = std::vector<unsigned char>;

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const unsigned char*>(values.data());
  return Bytes(begin, begin + values.size() * sizeof(T));
}

inline Bytes reduced_bytes(const Calls& calls,
                           std::size_t first,
                           std::size_t count,
                           ncclDataType_t type,
                           ncclRedOp_t operation) {
  return type == ncclFloat ? bytes_of(reduced<Number>(calls, first, count, operation))
         : type == ncclInt ? bytes_of(reduced<int>(calls, first, count, operation))
                           : bytes_of(reduced<unsigned>(calls, first, count, operation));
}

inline Bytes part(const void* from, std::size_t begin, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(from) + begin;
  return Bytes(bytes, bytes + size);
}

}  // namespace cuco_oracle

inline ncclResult_t ncclAllReduce(const void* send,
                                  void* receive,
                                  std::size_t count,
                                  ncclDataType_t type,
                                  ncclRedOp_t operation,
                                  ncclComm_t,
                                  cudaStream_t) {
  return cuco_oracle::together(send, receive, [&](const cuco_oracle::Calls& calls, int) {
    return cuco_oracle::reduced_bytes(calls, 0, count, type, operation);
  });
}
inline ncclResult_t ncclReduceScatter(const void* send,
                                      void* receive,
                                      std::size_t count,
                                      ncclDataType_t type,
                                      ncclRedOp_t operation,
                                      ncclComm_t,
                                      cudaStream_t) {
  return cuco_oracle::together(send, receive, [&](const cuco_oracle::Calls& calls, int rank) {
    return cuco_oracle::reduced_bytes(calls, static_cast<std::size_t>(rank) * count, count, type,
                                      operation);
  });
}
inline ncclResult_t ncclReduce(const void* send,
                               void* receive,
                               std::size_t count,
                               ncclDataType_t type,
                               ncclRedOp_t operation,
                               int root,
                               ncclComm_t,
                               cudaStream_t) {
  return cuco_oracle::together(send, receive, [&](const cuco_oracle::Calls& calls, int rank) {
    return rank == root ? cuco_oracle::reduced_bytes(calls, 0, count, type, operation)
                        : cuco_oracle::Bytes();
  });
}
inline ncclResult_t ncclAllGather(const void* send,
                                  void* receive,
                                  std::size_t count,
                                  ncclDataType_t type,
                                  ncclComm_t,
                                  cudaStream_t) {
  const std::size_t size = count * cuco_oracle::size_of(type);
  return cuco_oracle::together(send, receive, [&](const cuco_oracle::Calls& calls, int) {
    cuco_oracle::Bytes all;
    for (const auto& call : calls) {
      const auto bytes = cuco_oracle::part(call.send, 0, size);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  });
}
inline ncclResult_t ncclAlltoAll(const void* send,
                                 void* receive,
                                 std::size_t count,
                                 ncclDataType_t type,
                                 ncclComm_t,
                                 cudaStream_t) {
  const std::size_t size = count * cuco_oracle::size_of(type);
  return cuco_oracle::together(send, receive, [&](const cuco_oracle::Calls& calls, int rank) {
    cuco_oracle::Bytes all;
    for (const auto& call : calls) {
      const auto bytes = cuco_oracle::part(call.send, static_cast<std::size_t>(rank) * size, size);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  });
}
inline ncclResult_t ncclBroadcast(const void* send,
                                  void* receive,
                                  std::size_t count,
                                  ncclDataType_t type,
                                  int root,
                                  ncclComm_t,
                                  cudaStream_t) {
  return cuco_oracle::together(send, receive, [&](const cuco_oracle::Calls& calls, int) {
    return cuco_oracle::part(calls[static_cast<std::size_t>(root)].send, 0,
                             count * cuco_oracle::size_of(type));
  });
}

namespace cuco_oracle {

/* Sends are taken at once; what is received in a group comes at its end. */
struct Received {
  void* to;
  std::size_t size;
  int from;
};
inline std::map<int, std::vector<Received>> open_receives;
inline std::map<int, int> open_groups;

inline void finish_receives(int rank) {
  for (const Received& one : open_receives[rank]) {
    auto& queue = Network::current->messages[{one.from, rank}];
    Crew::wait([&] { return !queue.empty(); });
    std::memcpy(one.to, queue.front().data(), std::min(one.size, queue.front().size()));
    queue.pop_front();
  }
  open_receives[rank].clear();
}

}  // namespace cuco_oracle

inline ncclResult_t ncclGroupStart() {
  ++cuco_oracle::open_groups[cuco_oracle::Crew::member()];
  return ncclSuccess;
}
inline ncclResult_t ncclGroupEnd() {
  const int rank = cuco_oracle::Crew::member();
  if (--cuco_oracle::open_groups[rank] == 0) cuco_oracle::finish_receives(rank);
  return ncclSuccess;
}
inline ncclResult_t ncclSend(
    const void* send, std::size_t count, ncclDataType_t type, int peer, ncclComm_t, cudaStream_t) {
  cuco_oracle::Network::current->messages[{cuco_oracle::Crew::member(), peer}].push_back(
      cuco_oracle::part(send, 0, count * cuco_oracle::size_of(type)));
  return ncclSuccess;
}
inline ncclResult_t ncclRecv(
    void* receive, std::size_t count, ncclDataType_t type, int peer, ncclComm_t, cudaStream_t) {
  const int rank = cuco_oracle::Crew::member();
  cuco_oracle::open_receives[rank].push_back({receive, count * cuco_oracle::size_of(type), peer});
  if (cuco_oracle::open_groups[rank] == 0) cuco_oracle::finish_receives(rank);
  return ncclSuccess;
}

namespace cuco_oracle {

/* The answers of all ranks, computed when they are first asked for: the judge asks for them in
 * pieces. `program` is what one rank does with its inputs (in fp32) and its outputs. */
class Answers {
 public:
  using Program = std::function<void(
      int rank, const std::vector<Number*>& in, const std::vector<Number*>& out)>;
  using Sizes = std::vector<std::size_t>;

  const std::vector<Number>& of(const cuco_shape& shape,
                                const void* const* inputs,
                                const Sizes& in,
                                const Sizes& out,
                                const Program& program,
                                int rank,
                                int output) {
    std::vector<std::vector<Number>> given;
    std::uint64_t sum = 1469598103934665603U;
    const auto mix = [&](std::uint64_t bits) { sum = (sum ^ bits) * 1099511628211U; };
    for (int p = 0; p < shape.n_params; ++p)
      mix(static_cast<std::uint64_t>(shape.params[p]));
    for (std::size_t i = 0; i < in.size() * static_cast<std::size_t>(shape.ranks); ++i) {
      given.emplace_back();
      for (std::size_t k = 0; k < in[i % in.size()]; ++k) {
        given.back().emplace_back(load(inputs[i], k, false));
        mix(std::bit_cast<std::uint64_t>(given.back().back().value));
      }
    }
    if (answers_.empty() || sum != sum_) compute(shape.ranks, given, out, program);
    sum_ = sum;
    return answers_[static_cast<std::size_t>(rank) * out.size() + static_cast<std::size_t>(output)];
  }

 private:
  void compute(int ranks,
               std::vector<std::vector<Number>>& given,
               const Sizes& out,
               const Program& program) {
    answers_.clear();
    const std::size_t n_in = given.size() / static_cast<std::size_t>(ranks);
    for (int r = 0; r < ranks; ++r)
      for (const std::size_t size : out)
        answers_.emplace_back(size);
    Network network(ranks);
    Network::current = &network;
    const Crew::Body body = [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      std::vector<Number*> from, to;
      for (std::size_t i = 0; i < n_in; ++i)
        from.push_back(given[r * n_in + i].data());
      for (std::size_t i = 0; i < out.size(); ++i)
        to.push_back(answers_[r * out.size() + i].data());
      program(rank, from, to);
    };
    Crew(ranks, 1U << 20U, body).run();
  }

  std::uint64_t sum_ = 0;
  std::vector<std::vector<Number>> answers_;
};

}  // namespace cuco_oracle

#endif

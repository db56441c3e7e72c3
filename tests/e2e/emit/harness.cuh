// SPDX-License-Identifier: Apache-2.0
// Runs emitted collectives beside NCCL's own and compares every element: several sizes, aligned or
// not, iterations without the host in between, replays of a graph. One thread per GPU.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define OK(call)                                                             \
  do {                                                                       \
    if (const int error_code = (int)(call)) {                                \
      std::printf("%s:%d: %d: %s\n", __FILE__, __LINE__, error_code, #call); \
      std::exit(1);                                                          \
    }                                                                        \
  } while (false)

enum class Kind { AllGather, AllReduce, ReduceScatter, Broadcast, Reduce, AllToAll, Exchange };

struct Rank {
  int rank, ranks;
  ncclComm_t comm;
  cudaStream_t stream;
  bool bench;
  std::vector<float> times;         // of --bench: host, emitted, host, …
  std::vector<const char*> names;  // of the cases that were timed
};

constexpr int kDirect = 3, kReplays = 2;

// Small whole numbers, so that every order of a reduction gives the same bits.
template <typename T>
__global__ void fill(T* a, T* b, size_t count, int rank, int values, const unsigned* step) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const unsigned hash = (unsigned)(i * 7 + (i >> 5)) + rank * 3 + *step * 5;
    a[i] = b[i] = (T)(float)(1 + hash % values);
  }
}

template <typename T>
__global__ void compare(const T* got, const T* want, size_t count, unsigned* wrong) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    if (!(got[i] == want[i])) atomicAdd(wrong, 1);
  }
}

__global__ void advance(unsigned* step) {
  *step += 1;
}

template <typename T>
constexpr ncclDataType_t kType = ncclNumTypes;
template <>
constexpr ncclDataType_t kType<signed char> = ncclInt8;
template <>
constexpr ncclDataType_t kType<unsigned char> = ncclUint8;
template <>
constexpr ncclDataType_t kType<int> = ncclInt32;
template <>
constexpr ncclDataType_t kType<unsigned> = ncclUint32;
template <>
constexpr ncclDataType_t kType<long long> = ncclInt64;
template <>
constexpr ncclDataType_t kType<unsigned long long> = ncclUint64;
template <>
constexpr ncclDataType_t kType<__half> = ncclFloat16;
template <>
constexpr ncclDataType_t kType<__nv_bfloat16> = ncclBfloat16;
template <>
constexpr ncclDataType_t kType<float> = ncclFloat32;
template <>
constexpr ncclDataType_t kType<double> = ncclFloat64;

// The messages of one rank in each pattern, told to send(data, count, peer) and receive(…).
template <typename T, typename Send, typename Receive>
void messages(
    int pattern, const Rank& r, const T* in, T* out, size_t n, Send send, Receive receive) {
  const int right = (r.rank + 1) % r.ranks, left = (r.rank + r.ranks - 1) % r.ranks;
  const auto longer = [&](int from, int to) {
    return n / (1 + (from * 3 + to * 5) % 4) * (n > 1 ? (from + to) % 3 != 1 : 1);
  };
  switch (pattern) {
    case 0:  // ring shift
      send(in, n, right);
      receive(out, n, left);
      break;
    case 1:  // halo; the two neighbours may be the same rank
      if (r.rank > 0) send(in, n, left), receive(out, n, left);
      if (r.rank + 1 < r.ranks) send(in + n, n, right), receive(out + n, n, right);
      break;
    case 2:  // all-to-all with variable counts, some of them 0, own part included
      for (int p = 0; p < r.ranks; ++p) {
        send(in + p * n, longer(r.rank, p), p);
        receive(out + p * n, longer(p, r.rank), p);
      }
      break;
    default:  // two messages to the same peer, and none at all for the last rank
      if (r.rank == 0 && r.ranks > 1) send(in, n, 1), send(in + n, n / 2, 1);
      if (r.rank == 1) receive(out, n, 0), receive(out + n, n / 2, 0);
  }
}
constexpr int kPatterns = 4;

template <typename C>
struct Runner {
  using T = typename C::T;
  Rank& r;
  C c;
  T *send = nullptr, *recv = nullptr, *other_send = nullptr, *other_recv = nullptr;
  unsigned *step = nullptr, *wrong = nullptr;
  size_t section = 0;  // the longest count

  size_t inputs(size_t n) const {
    const bool sections =
        C::kKind == Kind::ReduceScatter || C::kKind == Kind::AllToAll || C::kKind == Kind::Exchange;
    return sections ? r.ranks * n : n;
  }
  size_t outputs(size_t n) const {
    const bool sections =
        C::kKind == Kind::AllGather || C::kKind == Kind::AllToAll || C::kKind == Kind::Exchange;
    return sections ? r.ranks * n : n;
  }

  ncclResult_t host(const T* in, T* out, size_t n, int root) {
    const auto type = kType<T>;
    switch (C::kKind) {
      case Kind::AllGather:
        return ncclAllGather(in, out, n, type, r.comm, r.stream);
      case Kind::AllReduce:
        return ncclAllReduce(in, out, n, type, C::kOp, r.comm, r.stream);
      case Kind::ReduceScatter:
        return ncclReduceScatter(in, out, n, type, C::kOp, r.comm, r.stream);
      case Kind::Broadcast:
        return ncclBroadcast(in, out, n, type, root, r.comm, r.stream);
      case Kind::Reduce:
        return ncclReduce(in, out, n, type, C::kOp, root, r.comm, r.stream);
      default:
        break;
    }
    OK(ncclGroupStart());
    if (C::kKind == Kind::AllToAll) {
      for (int p = 0; p < r.ranks; ++p) {
        OK(ncclSend(in + p * n, n, type, p, r.comm, r.stream));
        OK(ncclRecv(out + p * n, n, type, p, r.comm, r.stream));
      }
    } else {
      messages(
          root, r, in, out, n,
          [&](const T* d, size_t k, int p) { OK(ncclSend(d, k, type, p, r.comm, r.stream)); },
          [&](T* d, size_t k, int p) { OK(ncclRecv(d, k, type, p, r.comm, r.stream)); });
    }
    return ncclGroupEnd();
  }
  ncclResult_t emitted(const T* in, T* out, size_t n, int root) {
    if constexpr (C::kKind == Kind::Exchange) {
      messages(
          root, r, in, out, n, [&](const T* d, size_t k, int p) { OK(c.send(d, k, p)); },
          [&](T* d, size_t k, int p) { OK(c.receive(d, k, p)); });
    }
    return c.call(in, out, n, root, r.stream);
  }

  // In one of the two sets of buffers: where a call reads and writes.
  struct Ends {
    T *in, *out;
  };
  Ends ends(T* sends, T* receives, bool in_place, size_t n, size_t offset) const {
    if (!in_place) return {sends + offset, receives + offset};
    T* both = receives + offset;
    if (C::kKind == Kind::AllGather) return {both + r.rank * n, both};
    if (C::kKind == Kind::ReduceScatter) return {both, both + r.rank * n};
    return {both, both};
  }

  void iteration(size_t n, size_t offset, bool in_place, int root) {
    const Ends got = ends(send, recv, in_place, n, offset);
    const Ends want = ends(other_send, other_recv, in_place, n, offset);
    const int values = C::kOp == ncclProd ? 2 : 15;
    fill<<<4, 128, 0, r.stream>>>(got.in, want.in, inputs(n), r.rank, values, step);
    if (!in_place) {
      OK(cudaMemsetAsync(got.out, 0, outputs(n) * sizeof(T), r.stream));
      OK(cudaMemsetAsync(want.out, 0, outputs(n) * sizeof(T), r.stream));
    }
    OK(emitted(got.in, got.out, n, root));
    OK(host(want.in, want.out, n, root));
    if (C::kKind != Kind::Reduce || root == r.rank) {
      compare<<<4, 128, 0, r.stream>>>(got.out, want.out, outputs(n), wrong);
    }
    advance<<<1, 1, 0, r.stream>>>(step);
  }

  int check(size_t n, size_t offset, bool in_place) {
    const int roots = C::kKind == Kind::Exchange ? kPatterns : r.ranks;
    for (int i = 0; i < kDirect; ++i)
      iteration(n, offset, in_place, int(n + i) % roots);
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    OK(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal));
    iteration(n, offset, in_place, int(n) % roots);
    OK(cudaStreamEndCapture(r.stream, &graph));
    OK(cudaGraphInstantiate(&replay, graph, 0));
    for (int i = 0; i < kReplays; ++i)
      OK(cudaGraphLaunch(replay, r.stream));
    unsigned bad = 0;
    OK(cudaMemcpyAsync(&bad, wrong, sizeof bad, cudaMemcpyDeviceToHost, r.stream));
    OK(cudaMemsetAsync(wrong, 0, sizeof bad, r.stream));
    OK(cudaStreamSynchronize(r.stream));
    OK(cudaGraphExecDestroy(replay));
    OK(cudaGraphDestroy(graph));
    if (bad > 0) {
      std::printf("%s: rank %d, %zu elements%s%s: %u wrong\n", C::kName, r.rank, n,
                  offset > 0 ? ", not aligned" : "", in_place ? ", in place" : "", bad);
    }
    return bad > 0;
  }

  // Microseconds of a call in a row of calls.
  template <typename Call>
  float time(Call call) {
    constexpr int kWarm = 1, kTimed = 3;
    cudaEvent_t begin, end;
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    for (int i = 0; i < kWarm; ++i)
      OK(call());
    OK(cudaEventRecord(begin, r.stream));
    for (int i = 0; i < kTimed; ++i)
      OK(call());
    OK(cudaEventRecord(end, r.stream));
    OK(cudaStreamSynchronize(r.stream));
    float ms = 0;
    OK(cudaEventElapsedTime(&ms, begin, end));
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
    return 1000 * ms / kTimed;
  }

  int run(const std::vector<size_t>& counts) {
    section = *std::max_element(counts.begin(), counts.end());
    const size_t bytes = (r.ranks * section + 16) * sizeof(T);
    OK(c.open(r.comm));
    OK(c.allocate(r.comm, send, recv, bytes));
    OK(cudaMalloc(&other_send, bytes));
    OK(cudaMalloc(&other_recv, bytes));
    OK(cudaMalloc(&step, 2 * sizeof(unsigned)));
    OK(cudaMemset(step, 0, 2 * sizeof(unsigned)));
    wrong = step + 1;
    OK(cudaDeviceSynchronize());
    int bad = 0;
    for (const size_t n : counts) {
      if (r.bench) {
        OK(cudaMemset(other_send, 0, bytes));
        OK(cudaMemset(send, 0, bytes));
        OK(cudaDeviceSynchronize());
        const Ends got = ends(send, recv, C::kInPlace, n, 0);
        r.times.push_back(time([&] { return host(other_send, other_recv, n, 0); }));
        r.times.push_back(time([&] { return emitted(got.in, got.out, n, 0); }));
        continue;
      }
      const size_t offset = n % 3 == 1 ? 1 : 0;
      if (!C::kInPlace) bad += check(n, offset, false);
      if (C::kInPlace || C::kAlsoInPlace) bad += check(n, offset, true);
    }
    OK(c.close());
    OK(c.release(r.comm, send, recv));
    OK(cudaFree(other_send));
    OK(cudaFree(other_recv));
    OK(cudaFree(step));
    return bad;
  }
};

template <typename C>
int run_case(Rank& r, const std::vector<size_t>& sizes) {
  if (const char* only = std::getenv("ONLY"); only && !std::strstr(C::kName, only)) return 0;
  std::vector<size_t> counts = sizes;
  if (r.bench) {
    for (size_t& n : counts) {
      n /= sizeof(typename C::T);  // bytes
    }
  }
  if (r.bench) r.names.push_back(C::kName);
  const int bad = Runner<C>{r, {}}.run(counts);
  if (r.rank == 0 && !r.bench) std::printf("%s %s\n", bad > 0 ? "FAIL" : "pass", C::kName);
  return bad;
}

struct Collectives {
  template <typename C>
  static int run(Rank& r, const std::vector<size_t>& sizes) {
    return run_case<C>(r, sizes);
  }
};

// In --bench the arguments are bytes, else elements; with --split the ranks form two communicators.
template <typename How, typename... Cases>
int run_all(int argc, char** argv) {
  std::vector<size_t> sizes;
  bool bench = false, split = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--bench"))
      bench = true;
    else if (!std::strcmp(argv[i], "--split"))
      split = true;
    else
      sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  }
  if (sizes.empty()) sizes = {1003, 0, 1, 2500};
  int devices = 0;
  OK(cudaGetDeviceCount(&devices));
  std::vector<ncclComm_t> comms(devices);
  OK(ncclCommInitAll(comms.data(), devices, nullptr));
  std::vector<std::thread> threads;
  std::vector<int> bad(devices);
  std::vector<std::vector<float>> times(devices);
  std::vector<const char*> names;
  for (int i = 0; i < devices; ++i) {
    threads.emplace_back([&, i] {
      OK(cudaSetDevice(i));
      Rank r{i, devices, comms[i], nullptr, bench, {}, {}};
      if (split) {
        OK(ncclCommSplit(comms[i], i % 2, i, &r.comm, nullptr));
        OK(ncclCommUserRank(r.comm, &r.rank));
        OK(ncclCommCount(r.comm, &r.ranks));
      }
      OK(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking));
      bad[i] = (How::template run<Cases>(r, sizes) + ...);
      times[i] = r.times;
      if (i == 0) names = r.names;
      OK(cudaStreamDestroy(r.stream));
      if (split) OK(ncclCommDestroy(r.comm));
      OK(ncclCommDestroy(comms[i]));
    });
  }
  for (auto& thread : threads)
    thread.join();
  int sum = 0;
  for (const int b : bad)
    sum += b;
  if (bench) {
    for (size_t k = 0; k + 1 < times[0].size(); k += 2) {
      float slowest[2] = {};
      for (const auto& t : times) {
        for (int side = 0; side < 2; ++side)
          slowest[side] = std::max(slowest[side], t[k + side]);
      }
      std::printf("%s\t%zu\t%.2f\t%.2f\n", names[k / 2 / sizes.size()], sizes[k / 2 % sizes.size()],
                  slowest[0], slowest[1]);
    }
    return 0;
  }
  std::printf("%s\n", sum > 0 ? "FAIL" : "ok");
  return sum > 0;
}

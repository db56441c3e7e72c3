// SPDX-License-Identifier: Apache-2.0
// What loopback costs, and how well it paces: one program, as many ranks as it sees devices. Prints
// one line per figure: name, value, unit.
#include "measure.h"

namespace {

/// Keeps multiprocessors busy.
__global__ void compute(float* out, int rounds) {
  float x = threadIdx.x;
  for (int i = 0; i < rounds; ++i)
    x = x * 1.0001f + 0.5f;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void unique_sms(unsigned* seen) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (threadIdx.x == 0) atomicAdd(&seen[sm], 1u);
  for (int i = 0; i < 200; ++i)
    __nanosleep(100);
}

template <typename Launch>
double time_on_all(const std::vector<Rank>& ranks, Launch launch) {
  const double begin = now_us();
  for (const Rank& r : ranks) {
    CUDA(cudaSetDevice(r.rank));
    launch(r);
    CUDA(cudaGetLastError());
  }
  synchronise(ranks);
  return now_us() - begin;
}

void show_partitions(const std::vector<Rank>& ranks) {
  std::vector<unsigned> owner(1024, 0);
  bool disjoint = true;
  for (const Rank& r : ranks) {
    unsigned* seen = upload(r.rank, std::vector<unsigned>(1024));
    for (cudaStream_t stream : {r.stream, cudaStream_t(nullptr)}) {
      unique_sms<<<512, 1024, 0, stream>>>(seen);
      CUDA(cudaGetLastError());
    }
    CUDA(cudaDeviceSynchronize());
    int count = 0;
    const auto got = download<unsigned>(seen, 1024);
    for (size_t sm = 0; sm < got.size(); ++sm) {
      if (got[sm] == 0) continue;
      ++count;
      disjoint = disjoint && owner[sm] == 0;
      owner[sm] = r.rank + 1;
    }
    if (r.rank == 0) say("sms_per_rank", count, "SMs");
  }
  say("partitions_disjoint", disjoint ? 1 : 0, "bool");
}

double time_barrier(const std::vector<Rank>& ranks, const std::vector<ncclDevComm>& comms) {
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    times.push_back(time_on_all(ranks, [&](const Rank& r) {
                      barriers<<<1, 128, 0, r.stream>>>(comms[r.rank], 2000);
                    }) /
                    2000);
  }
  return median(times);
}

/// Puts of all sizes, one at a time, then in bursts.
void measure_small(const std::vector<Rank>& ranks,
                   const std::vector<ncclDevComm>& comms,
                   const Windows& w) {
  long long* clocks = upload(1, std::vector<long long>(3));
  for (const size_t bytes : {8, 1024, 4096, 16384, 65536, 262144, 1048576}) {
    std::vector<double> times, posts;
    for (int i = 0; i < 21; ++i) {
      time_on_all(ranks, [&](const Rank& r) {
        one_put<<<1, 1, 0, r.stream>>>(comms[r.rank], w.windows[r.rank], bytes, clocks);
      });
      CUDA(cudaSetDevice(1));
      const auto seen = download<long long>(clocks, 3);
      times.push_back((seen[2] - seen[0]) / 1e3);
      posts.push_back((seen[1] - seen[0]) / 1e3);
    }
    say(("put_" + std::to_string(bytes) + "B").c_str(), median(times), "us");
    say(("put_" + std::to_string(bytes) + "B_worst").c_str(),
        *std::max_element(times.begin() + 1, times.end()), "us");
    if (bytes == 8) say("post_8B", median(posts), "us");
  }
  for (const size_t bytes : {64, 4096, 16384}) {
    std::vector<double> times;
    for (int i = 0; i < 7; ++i) {
      times.push_back(time_on_all(ranks, [&](const Rank& r) {
        burst<<<1, 1, 0, r.stream>>>(comms[r.rank], w.windows[r.rank], bytes, 64);
      }));
    }
    say(("burst_64_of_" + std::to_string(bytes) + "B").c_str(), median(times), "us");
  }
}

/// Host-driven, for comparison with the model.
void measure_collective(const std::vector<Rank>& ranks, const Windows& w, const std::string& name) {
  const size_t kib = name.find("64KiB") != name.npos    ? 64
                     : name.find("16MiB") != name.npos ? 16 << 10
                                                       : 64 << 10;
  const size_t bytes = kib << 10;
  const int n = static_cast<int>(ranks.size());
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const double begin = now_us();
    NCCL(ncclGroupStart());
    for (const Rank& r : ranks) {
      char* memory = static_cast<char*>(w.memory[r.rank]);
      if (name.rfind("all_reduce", 0) == 0) {
        NCCL(ncclAllReduce(memory, memory, bytes / 4, ncclFloat, ncclSum, r.comm, r.stream));
      } else if (name.rfind("all_gather", 0) == 0) {
        NCCL(ncclAllGather(memory + r.rank * bytes, memory, bytes, ncclInt8, r.comm, r.stream));
      } else {
        NCCL(ncclSend(memory, bytes, ncclInt8, (r.rank + 1) % n, r.comm, r.stream));
        NCCL(ncclRecv(memory + (size_t(64) << 20), bytes, ncclInt8, (r.rank + n - 1) % n, r.comm,
                      r.stream));
      }
    }
    NCCL(ncclGroupEnd());
    synchronise(ranks);
    times.push_back(now_us() - begin);
  }
  say(name.c_str(), median(times), "us");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "unpaced";
  const std::vector<Rank> ranks = all_ranks();
  const int n = static_cast<int>(ranks.size());
  ncclDevCommRequirements wanted = no_requirements();
  wanted.lsaBarrierCount = 256;
  wanted.ginSignalCount = 4;
  wanted.ginCounterCount = 1;
  const auto comms = make_dev_comms(ranks, wanted);
  const Windows w = make_windows(ranks, size_t(256) << 20);
  if (what == "unpaced") {
    show_partitions(ranks);
    say("lsa_barrier", time_barrier(ranks, comms), "us");
    uint64_t answered = 0;
    for (size_t bytes : {size_t(8), size_t(65536)}) {
      std::vector<double> times;
      constexpr int kRounds = 500;
      for (int i = 0; i < 5; ++i) {
        const std::vector<Rank> two(ranks.begin(), ranks.begin() + 2);
        times.push_back(time_on_all(two, [&](const Rank& r) {
                          ping_pong<<<1, 1, 0, r.stream>>>(comms[r.rank], w.windows[r.rank], bytes,
                                                           kRounds, answered);
                        }) /
                        kRounds);
        answered += kRounds;
      }
      say(bytes == 8 ? "put_signal_round_trip_8B" : "put_signal_round_trip_64KiB", median(times),
          "us");
    }
    std::vector<double> times;
    say("lsa_barrier_beside_puts", time_barrier(ranks, comms), "us");
    const size_t lines = (size_t(256) << 20) / n / 16;
    cudaDeviceProp properties;
    CUDA(cudaGetDeviceProperties(&properties, 0));
    times.clear();
    for (int i = 0; i < 7; ++i) {
      times.push_back(time_on_all(ranks, [&](const Rank& r) {
        spread<<<properties.multiProcessorCount, 1024, 0, r.stream>>>(comms[r.rank],
                                                                      w.windows[r.rank], lines);
      }));
    }
    say("lsa_bandwidth", double(n) * (n - 1) * lines * 16 / median(times) / 1e6, "TB/s");
  }
  if (what == "small") {
    measure_small(ranks, comms, w);
  } else if (what == "collectives") {
    for (const char* name : {"all_reduce_64MiB", "all_reduce_64KiB", "all_gather_16MiB",
                             "send_receive_16MiB", "send_receive_64KiB"})
      measure_collective(ranks, w, name);
  }
  if (what == "small" || what == "collectives") {
    free_all();
    std::printf("measured %d ranks, %s: ok\n", n, what.c_str());
    return 0;
  }
  long long* clocks = upload(1, std::vector<long long>(3));
  float* busy = upload(1, std::vector<float>(1 << 20));
  for (const bool computing : {false, true}) {
    std::vector<double> times;
    cudaStream_t other;
    CUDA(cudaSetDevice(1));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (int i = 0; i < 9; ++i) {
      if (computing) compute<<<8, 256, 0, other>>>(busy, 4000000);
      time_on_all(ranks, [&](const Rank& r) {
        one_put<<<1, 1, 0, r.stream>>>(comms[r.rank], w.windows[r.rank], size_t(64) << 20, clocks);
      });
      CUDA(cudaDeviceSynchronize());
      const auto seen = download<long long>(clocks, 3);
      times.push_back((seen[2] - seen[0]) / 1e3);
    }
    say(computing ? "put_64MiB_while_computing" : "put_64MiB", median(times), "us");
    say(computing ? "put_64MiB_while_computing_worst" : "put_64MiB_worst",
        *std::max_element(times.begin(), times.end()), "us");
  }
  measure_collective(ranks, w, "all_reduce_64MiB");
  free_all();
  std::printf("measured %d ranks, %s: ok\n", n, what.c_str());
}

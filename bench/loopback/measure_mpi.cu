// SPDX-License-Identifier: Apache-2.0
// measure.cu's figures where ranks are processes: measure_mpi unpaced|paced, under mpirun.
#include "../../tests/e2e/nccl/ranks_mpi.h"
#include "measure.h"

namespace {

/// From a common start to the end of the slowest rank.
template <typename Launch>
double time_of(Launch launch, cudaStream_t stream) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_us();
  launch();
  CUDA(cudaGetLastError());
  CUDA(cudaStreamSynchronize(stream));
  double mine = now_us() - begin;
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

template <typename Launch>
double median_of(int times, const Rank& me, Launch launch) {
  std::vector<double> each;
  for (int i = 0; i < times; ++i)
    each.push_back(time_of(launch, me.stream));
  return median(each);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "unpaced";
  int n = 0;
  const Rank me = rank_of_mpi(argc, argv, &n);
  const auto tell = [&](const std::string& name, double value, const char* unit) {
    if (me.rank == 0) say(name.c_str(), value, unit);
  };
  ncclDevCommRequirements wanted = no_requirements();
  wanted.lsaBarrierCount = 256;
  wanted.ginSignalCount = 4;
  wanted.ginCounterCount = 1;
  ncclDevComm comm;
  NCCL(ncclDevCommCreate(me.comm, &wanted, &comm));
  constexpr size_t kBytes = size_t(256) << 20;
  const OwnWindow w = make_window(me, kBytes);
  if (what == "unpaced") {
    const auto barrier = [&] { barriers<<<1, 128, 0, me.stream>>>(comm, 2000); };
    tell("lsa_barrier", median_of(5, me, barrier) / 2000, "us");
    constexpr int kRounds = 500;
    uint64_t answered = 0;
    for (const size_t bytes : {size_t(8), size_t(65536)}) {
      const double all = median_of(5, me, [&] {
        if (me.rank < 2)
          ping_pong<<<1, 1, 0, me.stream>>>(comm, w.window, bytes, kRounds, answered);
        answered += kRounds;
      });
      tell(bytes == 8 ? "put_signal_round_trip_8B" : "put_signal_round_trip_64KiB", all / kRounds,
           "us");
    }
    tell("lsa_barrier_beside_puts", median_of(5, me, barrier) / 2000, "us");
    cudaDeviceProp properties;
    CUDA(cudaGetDeviceProperties(&properties, me.rank));
    const size_t lines = kBytes / n / 16;
    const double all = median_of(7, me, [&] {
      spread<<<properties.multiProcessorCount, 1024, 0, me.stream>>>(comm, w.window, lines);
    });
    tell("lsa_bandwidth", double(n) * (n - 1) * lines * 16 / all / 1e6, "TB/s");
    tell("sms_per_rank", properties.multiProcessorCount, "SMs");
  }
  // The clock is the GPU's, and so the same for all processes.
  long long* clocks = upload(me.rank, std::vector<long long>(3));
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    time_of([&] { one_put<<<1, 1, 0, me.stream>>>(comm, w.window, size_t(64) << 20, clocks); },
            me.stream);
    const auto mine = download<long long>(clocks, 3);
    long long all[3];
    MPI_Allreduce(mine.data(), all, 3, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    times.push_back((all[2] - all[0]) / 1e3);
  }
  tell("put_64MiB", median(times), "us");
  char* memory = static_cast<char*>(w.memory);
  for (const size_t kib : {64, 64 << 10}) {
    const double all = median_of(9, me, [&] {
      NCCL(ncclAllReduce(memory, memory, (kib << 10) / 4, ncclFloat, ncclSum, me.comm, me.stream));
    });
    tell(kib == 64 ? "all_reduce_64KiB" : "all_reduce_64MiB", all, "us");
  }
  NCCL(ncclDevCommDestroy(me.comm, &comm));
  free_window(me, w);
  NCCL(ncclCommDestroy(me.comm));
  free_all();
  MPI_Finalize();
  if (me.rank == 0) std::printf("measured %d processes, %s: ok\n", n, what.c_str());
}

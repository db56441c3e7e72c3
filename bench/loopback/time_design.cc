// SPDX-License-Identifier: Apache-2.0
// Runs one workload program with N ranks as threads of this process, checks a sample of its outputs
// against the oracle, and times it from a common start to the end of the slowest rank's stream.
//
//   time_design PROGRAM.so ORACLE.so RANKS ITERATIONS TYPES PARAM… -- INPUT_ELEMENTS… --
//   OUTPUT_ELEMENTS…
//
// TYPES is one letter per input and output: b = bf16, f = fp32, i = int32. Each rank loads a copy
// of the program of its own, as if it were a process: state on the host and on the device is its
// own.
#include <algorithm>
#include <barrier>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>

#include "cuco/oracle.h"
#include "cuco/workload.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Job {
  int ranks = 0;
  int iterations = 0;
  std::string types;
  std::vector<long long> params;
  std::vector<long long> inputs;   // elements
  std::vector<long long> outputs;  // the same
  void* oracle = nullptr;
  std::vector<std::vector<std::vector<char>>> host;  // inputs by rank
  std::vector<double> seconds;                       // by iteration
  std::vector<double> worst;                         // relative error by rank
};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "time_design: %s\n", why.c_str());
  std::_Exit(1);
}

template <typename F>
F symbol(void* library, const char* name) {
  auto f = library == nullptr ? nullptr : reinterpret_cast<F>(dlsym(library, name));
  if (f == nullptr) give_up(dlerror());
  return f;
}

void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) give_up(std::string(what) + ": " + cudaGetErrorString(code));
}
void check(ncclResult_t code, const char* what) {
  if (code != ncclSuccess) give_up(std::string(what) + ": " + ncclGetErrorString(code));
}

std::size_t bytes_of(char type) {
  return type == 'b' ? 2 : 4;
}

double element(const std::vector<char>& bytes, char type, std::size_t i) {
  if (type == 'b') {
    std::uint16_t half;
    std::memcpy(&half, &bytes[2 * i], 2);
    return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
  }
  float x;
  std::memcpy(&x, &bytes[4 * i], 4);
  return x;
}

/// The worst relative error among a few elements at the begin, the middle and the end.
double worst_error(const Job& job, int rank, std::size_t output, const std::vector<char>& got) {
  const cuco_shape shape = {job.ranks, job.params.data(), static_cast<int>(job.params.size())};
  std::vector<const void*> inputs;
  for (const auto& of_rank : job.host) {
    for (const auto& input : of_rank)
      inputs.push_back(input.data());
  }
  const auto elements = static_cast<std::size_t>(job.outputs[output]);
  const std::size_t count = std::min<std::size_t>(elements, 32);
  const char type = job.types[job.inputs.size() + output];
  double worst = 0;
  for (const std::size_t first : {std::size_t{0}, (elements - count) / 2, elements - count}) {
    std::vector<double> want(count), scale(count);
    symbol<decltype(&cuco_oracle_reference)>(job.oracle, "cuco_oracle_reference")(
        &shape, inputs.data(), static_cast<int>(job.inputs.size()), rank, static_cast<int>(output),
        first, count, want.data(), scale.data());
    for (std::size_t e = 0; e < count; ++e) {
      const double difference = std::abs(element(got, type, first + e) - want[e]);
      const double relative = difference / (std::abs(want[e]) + scale[e] + 1e-30);
      worst = std::isnan(relative) ? 1e9 : std::max(worst, relative);
    }
  }
  return worst;
}

void make_inputs(Job& job, int rank) {
  const cuco_shape shape = {job.ranks, job.params.data(), static_cast<int>(job.params.size())};
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    std::vector<char>& bytes = job.host[rank].emplace_back(static_cast<std::size_t>(job.inputs[i]) *
                                                           bytes_of(job.types[i]));
    symbol<decltype(&cuco_oracle_input)>(job.oracle, "cuco_oracle_input")(
        &shape, 12345, rank, static_cast<int>(i), bytes.data(), bytes.size());
  }
}

void run_rank(
    Job& job, int rank, const ncclUniqueId& id, const std::string& program, std::barrier<>& meet) {
  make_inputs(job, rank);
  check(cudaSetDevice(rank), "cudaSetDevice");
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  cuco_context context = {};
  context.rank = rank;
  context.ranks = job.ranks;
  check(ncclCommInitRank(&context.comm, job.ranks, id, rank), "ncclCommInitRank");
  std::vector<void*> in(job.inputs.size()), out(job.outputs.size());
  std::vector<std::size_t> in_bytes, out_bytes;
  for (std::size_t i = 0; i < in.size(); ++i) {
    in_bytes.push_back(job.host[rank][i].size());
    check(ncclMemAlloc(&in[i], in_bytes[i]), "ncclMemAlloc");
    check(cudaMemcpyAsync(in[i], job.host[rank][i].data(), in_bytes[i], cudaMemcpyHostToDevice,
                          stream),
          "cudaMemcpyAsync");
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out_bytes.push_back(static_cast<std::size_t>(job.outputs[i]) *
                        bytes_of(job.types[in.size() + i]));
    check(ncclMemAlloc(&out[i], out_bytes[i]), "ncclMemAlloc");
    check(cudaMemsetAsync(out[i], 0xff, out_bytes[i], stream), "cudaMemsetAsync");
  }
  check(cudaStreamSynchronize(stream), "inputs");
  context.sets = 1;
  context.params = job.params.data();
  context.n_params = static_cast<int>(job.params.size());
  context.inputs = in.data();
  context.outputs = out.data();
  context.input_bytes = in_bytes.data();
  context.output_bytes = out_bytes.data();
  context.n_inputs = static_cast<int>(in.size());
  context.n_outputs = static_cast<int>(out.size());

  void* library = dlopen(program.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto run = symbol<decltype(&cuco_run)>(library, "cuco_run");
  void* state = nullptr;
  if (const int code = symbol<decltype(&cuco_setup)>(library, "cuco_setup")(&context, &state)) {
    give_up("cuco_setup of rank " + std::to_string(rank) + " returns " + std::to_string(code) +
            "; CUDA's last error: " + cudaGetErrorString(cudaGetLastError()));
  }
  constexpr int kWarmUp = 2;
  for (int i = 0; i < kWarmUp + job.iterations; ++i) {
    meet.arrive_and_wait();
    const auto begin = Clock::now();
    if (run(state, 0, stream) != 0) give_up("cuco_run failed");
    check(cudaStreamSynchronize(stream), "cuco_run");
    meet.arrive_and_wait();
    if (rank == 0 && i >= kWarmUp)
      job.seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::vector<char> got(out_bytes[i]);
    check(cudaMemcpyAsync(got.data(), out[i], got.size(), cudaMemcpyDeviceToHost, stream), "copy");
    check(cudaStreamSynchronize(stream), "copy");
    job.worst[rank] = std::max(job.worst[rank], worst_error(job, rank, i, got));
  }
  meet.arrive_and_wait();
  symbol<decltype(&cuco_teardown)>(library, "cuco_teardown")(state);
  check(ncclCommDestroy(context.comm), "ncclCommDestroy");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) return 2;
  Job job;
  job.oracle = dlopen(argv[2], RTLD_NOW);
  job.ranks = std::atoi(argv[3]);
  job.iterations = std::atoi(argv[4]);
  job.types = argv[5];
  std::vector<long long>* lists[] = {&job.params, &job.inputs, &job.outputs};
  for (int i = 6, list = 0; i < argc; ++i) {
    if (std::strcmp(argv[i], "--") == 0) {
      if (++list == 3) return 2;
    } else {
      lists[list]->push_back(std::atoll(argv[i]));
    }
  }
  job.host.resize(job.ranks);
  job.worst.resize(job.ranks);
  char folder[] = "/tmp/time-design-XXXXXX";
  if (mkdtemp(folder) == nullptr) give_up("no temporary folder");
  ncclUniqueId id;
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  std::barrier meet(job.ranks);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < job.ranks; ++rank) {
    const std::string copy = std::string(folder) + "/" + std::to_string(rank) + ".so";
    std::filesystem::copy_file(argv[1], copy);
    ranks.emplace_back([&, rank, copy] { run_rank(job, rank, id, copy, meet); });
  }
  for (std::thread& rank : ranks)
    rank.join();
  std::filesystem::remove_all(folder);
  std::sort(job.seconds.begin(), job.seconds.end());
  const double worst = *std::max_element(job.worst.begin(), job.worst.end());
  std::printf("{\"median_us\": %.2f, \"best_us\": %.2f, \"worst_relative_error\": %.2e}\n",
              job.seconds[job.seconds.size() / 2] * 1e6, job.seconds.front() * 1e6, worst);
  return worst < 0.01 ? 0 : 1;
}

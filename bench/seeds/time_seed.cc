// SPDX-License-Identifier: Apache-2.0
// Runs one workload program as a single rank on a real GPU, checks it against its oracle and times
// it.
//
//   time_seed PROGRAM.so ORACLE.so ELEMENT_TYPES PARAM… -- INPUT_ELEMENTS… -- OUTPUT_ELEMENTS…
//
// ELEMENT_TYPES is one letter per input and output: b = bf16, f = fp32, i = int32. A sample of
// outputs is checked.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "cuco/oracle.h"
#include "cuco/workload.h"

namespace {

template <typename F>
F symbol(void* library, const char* name) {
  auto f = reinterpret_cast<F>(dlsym(library, name));
  if (f == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  return f;
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

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  void* program = dlopen(argv[1], RTLD_NOW);
  void* oracle = dlopen(argv[2], RTLD_NOW);
  if (program == nullptr || oracle == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const std::string types = argv[3];
  std::vector<long long> lists[3];  // params, input elements, output elements
  for (int i = 4, list = 0; i < argc; ++i) {
    if (std::strcmp(argv[i], "--") == 0) {
      ++list;
    } else {
      lists[list].push_back(std::atoll(argv[i]));
    }
  }
  const std::size_t n_in = lists[1].size(), n_out = lists[2].size();
  const cuco_shape shape = {1, lists[0].data(), static_cast<int>(lists[0].size())};
  std::vector<size_t> in_bytes(n_in), out_bytes(n_out);
  std::vector<std::vector<char>> host(n_in);
  std::vector<void*> in(n_in), out(n_out);
  std::vector<const void*> host_in(n_in);
  for (std::size_t i = 0; i < n_in; ++i) {
    in_bytes[i] = static_cast<size_t>(lists[1][i]) * (types[i] == 'b' ? 2 : 4);
    host[i].resize(in_bytes[i]);
    symbol<decltype(&cuco_oracle_input)>(oracle, "cuco_oracle_input")(
        &shape, 12345, 0, static_cast<int>(i), host[i].data(), in_bytes[i]);
    host_in[i] = host[i].data();
    cudaMalloc(&in[i], in_bytes[i]);
    cudaMemcpy(in[i], host[i].data(), in_bytes[i], cudaMemcpyHostToDevice);
  }
  for (std::size_t i = 0; i < n_out; ++i) {
    out_bytes[i] = static_cast<size_t>(lists[2][i]) * (types[n_in + i] == 'b' ? 2 : 4);
    cudaMalloc(&out[i], out_bytes[i]);
    cudaMemset(out[i], 0xff, out_bytes[i]);
  }
  cuco_context context = {};
  context.ranks = 1;
  int device = 0;
  if (ncclCommInitAll(&context.comm, 1, &device) != ncclSuccess) return 2;
  context.sets = 1;
  context.params = lists[0].data();
  context.n_params = static_cast<int>(lists[0].size());
  context.inputs = in.data();
  context.outputs = out.data();
  context.input_bytes = in_bytes.data();
  context.output_bytes = out_bytes.data();
  context.n_inputs = static_cast<int>(n_in);
  context.n_outputs = static_cast<int>(n_out);
  void* state = nullptr;
  if (symbol<decltype(&cuco_setup)>(program, "cuco_setup")(&context, &state) != 0) return 1;
  const auto run = symbol<decltype(&cuco_run)>(program, "cuco_run");
  if (run(state, 0, nullptr) != 0 || cudaDeviceSynchronize() != cudaSuccess) {
    std::printf("FAILED %s\n", cudaGetErrorString(cudaGetLastError()));
    return 1;
  }
  double worst = 0;
  for (std::size_t i = 0; i < n_out; ++i) {
    std::vector<char> got(out_bytes[i]);
    cudaMemcpy(got.data(), out[i], out_bytes[i], cudaMemcpyDeviceToHost);
    const auto elements = static_cast<std::size_t>(lists[2][i]);
    const std::size_t count = std::min<std::size_t>(elements, 512);
    for (const std::size_t first : {std::size_t{0}, (elements - count) / 2, elements - count}) {
      std::vector<double> want(count), scale(count);
      symbol<decltype(&cuco_oracle_reference)>(oracle, "cuco_oracle_reference")(
          &shape, host_in.data(), static_cast<int>(n_in), 0, static_cast<int>(i), first, count,
          want.data(), scale.data());
      for (std::size_t e = 0; e < count; ++e) {
        const double difference = std::abs(element(got, types[n_in + i], first + e) - want[e]);
        // As tolerances do: where a sum cancels, rounding goes with what was added up.
        const double relative = difference / (std::abs(want[e]) + scale[e] + 1e-30);
        worst = std::isnan(relative) ? 1e9 : std::max(worst, relative);
      }
    }
  }
  // L2 is flushed before every timed run: a serving engine does not find its activations there.
  void* flush = nullptr;
  cudaMalloc(&flush, 256U << 20U);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < 25; ++i) {
    cudaMemsetAsync(flush, i, 256U << 20U, nullptr);
    cudaEventRecord(begin, nullptr);
    run(state, 0, nullptr);
    cudaEventRecord(end, nullptr);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    times.push_back(ms * 1000);
  }
  std::sort(times.begin(), times.end());
  std::printf("worst relative error %.2e, median %.2f us, best %.2f us\n", worst, times[12],
              times[0]);
  return worst < 0.01 ? 0 : 1;
}

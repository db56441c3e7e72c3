// SPDX-License-Identifier: Apache-2.0
// Runs programs of one workload as a single rank on a real GPU, checks each against the oracle and
// times them in turns, so that what changes over time changes all of them.
//
//   time_seed PROGRAM.so[,PROGRAM.so…] ORACLE.so ELEMENT_TYPES PARAM… -- INPUT_ELEMENTS… --
//             OUTPUT_ELEMENTS…
//
// ELEMENT_TYPES is one letter per input and output: b = bf16, f = fp32, i = int32. A sample of
// outputs is checked. Prints one line per program.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "cuco/oracle.h"
#include "cuco/workload.h"

namespace {

void* open_library(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  return library;
}

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

/// The shape and the buffers that all programs use.
struct Problem {
  void* oracle = nullptr;
  std::string types;
  std::vector<long long> params, in_elements, out_elements;
  std::vector<size_t> in_bytes, out_bytes;
  std::vector<std::vector<char>> host;
  std::vector<const void*> host_in;
  std::vector<void*> in, out;

  [[nodiscard]] cuco_shape shape() const {
    return {1, params.data(), static_cast<int>(params.size())};
  }
  [[nodiscard]] size_t bytes(size_t i, long long elements) const {
    return static_cast<size_t>(elements) * (types[i] == 'b' ? 2 : 4);
  }
  void allocate() {
    const cuco_shape of = shape();
    for (std::size_t i = 0; i < in_elements.size(); ++i) {
      in_bytes.push_back(bytes(i, in_elements[i]));
      auto& values = host.emplace_back(in_bytes[i]);
      symbol<decltype(&cuco_oracle_input)>(oracle, "cuco_oracle_input")(
          &of, 12345, 0, static_cast<int>(i), values.data(), in_bytes[i]);
      cudaMalloc(&in.emplace_back(), in_bytes[i]);
      cudaMemcpy(in[i], values.data(), in_bytes[i], cudaMemcpyHostToDevice);
    }
    for (const auto& values : host)
      host_in.push_back(values.data());
    for (std::size_t i = 0; i < out_elements.size(); ++i) {
      out_bytes.push_back(bytes(in.size() + i, out_elements[i]));
      cudaMalloc(&out.emplace_back(), out_bytes[i]);
    }
  }
};

/// A program that has been set up.
struct Program {
  std::string name;
  void* state = nullptr;
  int (*run)(void*, int, cudaStream_t) = nullptr;
  double worst = 0;  ///< Relative error.
  bool works = false;
  std::vector<float> times{};
};

double worst_error(const Problem& problem) {
  const cuco_shape shape = problem.shape();
  double worst = 0;
  for (std::size_t i = 0; i < problem.out.size(); ++i) {
    std::vector<char> got(problem.out_bytes[i]);
    cudaMemcpy(got.data(), problem.out[i], got.size(), cudaMemcpyDeviceToHost);
    const auto elements = static_cast<std::size_t>(problem.out_elements[i]);
    const std::size_t count = std::min<std::size_t>(elements, 512);
    for (const std::size_t first : {std::size_t{0}, (elements - count) / 2, elements - count}) {
      std::vector<double> want(count), scale(count);
      symbol<decltype(&cuco_oracle_reference)>(problem.oracle, "cuco_oracle_reference")(
          &shape, problem.host_in.data(), static_cast<int>(problem.in.size()), 0,
          static_cast<int>(i), first, count, want.data(), scale.data());
      for (std::size_t e = 0; e < count; ++e) {
        const double value = element(got, problem.types[problem.in.size() + i], first + e);
        // As tolerances do: where a sum cancels, rounding goes with what was added up.
        const double relative = std::abs(value - want[e]) / (std::abs(want[e]) + scale[e] + 1e-30);
        worst = std::isnan(relative) ? 1e9 : std::max(worst, relative);
      }
    }
  }
  return worst;
}

Program set_up(const std::string& path, const Problem& problem, const cuco_context& context) {
  const std::size_t name = path.rfind('/') + 1;
  Program program{path.substr(name, path.rfind('.') - name)};
  void* library = open_library(path);
  program.run = symbol<decltype(&cuco_run)>(library, "cuco_run");
  for (std::size_t i = 0; i < problem.out.size(); ++i)
    cudaMemset(problem.out[i], 0xff, problem.out_bytes[i]);
  if (symbol<decltype(&cuco_setup)>(library, "cuco_setup")(&context, &program.state) != 0)
    return program;
  if (program.run(program.state, 0, nullptr) != 0 || cudaDeviceSynchronize() != cudaSuccess)
    return program;
  program.worst = worst_error(problem);
  program.works = program.worst < 0.01;
  return program;
}

/// Until there are enough samples, many where they are short: a tick of events is half a
/// microsecond.
void time_in_turns(std::vector<Program>& programs) {
  // L2 is flushed before every timed run: a serving engine does not find its activations there.
  void* flush = nullptr;
  cudaMalloc(&flush, 256U << 20U);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float longest = 0;
  for (int i = 0; i < 25 || (i < 401 && static_cast<float>(i) * longest < 50'000); ++i) {
    for (Program& program : programs) {
      if (!program.works) continue;
      cudaMemsetAsync(flush, i, 256U << 20U, nullptr);
      cudaEventRecord(begin, nullptr);
      program.run(program.state, 0, nullptr);
      cudaEventRecord(end, nullptr);
      cudaEventSynchronize(end);
      float ms = 0;
      cudaEventElapsedTime(&ms, begin, end);
      program.times.push_back(ms * 1000);
      longest = std::max(longest, ms * 1000);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  Problem problem;
  problem.oracle = open_library(argv[2]);
  problem.types = argv[3];
  std::vector<long long>* const lists[] = {&problem.params, &problem.in_elements,
                                           &problem.out_elements};
  for (int i = 4, list = 0; i < argc; ++i) {
    if (std::strcmp(argv[i], "--") == 0) {
      ++list;
    } else {
      lists[list]->push_back(std::atoll(argv[i]));
    }
  }
  problem.allocate();
  cuco_context context = {};
  context.ranks = 1;
  int device = 0;
  if (ncclCommInitAll(&context.comm, 1, &device) != ncclSuccess) return 2;
  context.sets = 1;
  context.params = problem.params.data();
  context.n_params = static_cast<int>(problem.params.size());
  context.inputs = problem.in.data();
  context.outputs = problem.out.data();
  context.input_bytes = problem.in_bytes.data();
  context.output_bytes = problem.out_bytes.data();
  context.n_inputs = static_cast<int>(problem.in.size());
  context.n_outputs = static_cast<int>(problem.out.size());
  std::vector<Program> programs;
  std::istringstream paths(argv[1]);
  for (std::string path; std::getline(paths, path, ',');)
    programs.push_back(set_up(path, problem, context));
  time_in_turns(programs);
  bool all_work = true;
  for (Program& program : programs) {
    std::printf("%-36s", program.name.c_str());
    all_work = all_work && program.works;
    if (program.times.empty()) {
      std::printf(" FAILED, worst relative error %.2e\n", program.worst);
      continue;
    }
    std::sort(program.times.begin(), program.times.end());
    std::printf(" worst relative error %.2e, median %.2f us, best %.2f us\n", program.worst,
                program.times[program.times.size() / 2], program.times[0]);
  }
  return all_work ? 0 : 1;
}

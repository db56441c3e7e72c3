// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the programs share: error checks, deterministic data, comparison, and the verdict line.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    const cudaError_t code = (call);                                                       \
    if (code != cudaSuccess) {                                                             \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(code)); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (false)

/// Numbers in [-1, 1), the same on every machine.
inline std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<std::int32_t>(seed >> 8U) - (1 << 23)) /
            static_cast<float>(1 << 23);
  }
  return values;
}

inline std::vector<int> random_ints(std::size_t count, std::uint32_t seed, int bound) {
  std::vector<int> values(count);
  for (int& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<int>((seed >> 8U) % static_cast<std::uint32_t>(bound));
  }
  return values;
}

/// Device memory that holds a copy of host values.
template <typename T>
struct Buffer {
  T* data = nullptr;
  std::size_t count;
  explicit Buffer(std::size_t n) : count(n) {
    CHECK(cudaMalloc(&data, n * sizeof(T)));
    CHECK(cudaMemset(data, 0, n * sizeof(T)));
  }
  explicit Buffer(const std::vector<T>& values) : count(values.size()) {
    CHECK(cudaMalloc(&data, count * sizeof(T)));
    CHECK(cudaMemcpy(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(data); }
  std::vector<T> host() const {
    std::vector<T> values(count);
    CHECK(cudaMemcpy(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
};

/// Prints the verdict and returns the exit code.
template <typename T, typename U>
int compare(const std::vector<T>& got, const std::vector<U>& expected, double tolerance) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = static_cast<double>(expected[i]);
    const double difference = std::fabs(static_cast<double>(got[i]) - e) / (1 + std::fabs(e));
    if (!(difference <= tolerance)) {
      std::printf("FAIL at %zu: got %g, expected %g\n", i, static_cast<double>(got[i]), e);
      return 1;
    }
    worst = difference > worst ? difference : worst;
  }
  std::printf("PASS worst relative difference %.2e\n", worst);
  return 0;
}

inline int verdict(bool right, const char* what) {
  std::printf("%s %s\n", right ? "PASS" : "FAIL", what);
  return right ? 0 : 1;
}

/// c = a (m x k) * b (k x n), in double.
inline std::vector<double> reference_gemm(
    const std::vector<float>& a, const std::vector<float>& b, int m, int n, int k) {
  std::vector<double> c(static_cast<std::size_t>(m) * n, 0.0);
  for (int i = 0; i < m; ++i) {
    for (int x = 0; x < k; ++x) {
      for (int j = 0; j < n; ++j)
        c[i * n + j] += static_cast<double>(a[i * k + x]) * b[x * n + j];
    }
  }
  return c;
}

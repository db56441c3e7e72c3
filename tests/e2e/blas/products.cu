// SPDX-License-Identifier: Apache-2.0
// Every kind of matrix product against one computed on the host in double precision.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call)                                                     \
  do {                                                               \
    if (const int status_ = (int)(call)) {                           \
      std::printf("line %d: %s gives %d\n", __LINE__, #call, status_); \
      std::exit(1);                                                  \
    }                                                                \
  } while (0)

int products = 0;

template <typename T>
struct Buffer {
  T* device = nullptr;
  std::vector<T> host;
  Buffer(size_t n, unsigned key, double size) : host(n) {
    for (size_t i = 0; i < n; ++i) {
      unsigned h = (unsigned)(i + 1) * 2654435761u ^ key * 40503u;
      h ^= h >> 15;
      host[i] = T((float)((double)(h % 2001) / 1000 - 1) * (float)size);
    }
    OK(cudaMalloc(&device, n * sizeof(T)));
    OK(cudaMemcpy(device, host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> back() const {
    std::vector<T> now(host.size());
    OK(cudaMemcpy(now.data(), device, now.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return now;
  }
  ~Buffer() { cudaFree(device); }
};

struct Case {
  const char* name;
  int m, n, k, batches;
  bool ta, tb;
  double alpha, beta;
  bool row_major = false;  ///< Lt only.
  int activation = 0;      ///< 0 none, 1 ReLU, 2 GELU
  bool bias = false;
};

double activated(double x, int kind) {
  if (kind == 1) return x > 0 ? x : 0;
  if (kind == 2) return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
  return x;
}

/// Element (i, j) of op(M) in `order`, with leading dimension ld.
template <typename T>
double at(const std::vector<T>& data, size_t begin, int i, int j, int ld, bool transposed, bool row_major) {
  if (transposed) std::swap(i, j);
  return (double)(float)data[begin + (row_major ? (size_t)i * ld + j : (size_t)j * ld + i)];
}
template <>
double at(const std::vector<double>& data, size_t begin, int i, int j, int ld, bool transposed, bool row_major) {
  if (transposed) std::swap(i, j);
  return data[begin + (row_major ? (size_t)i * ld + j : (size_t)j * ld + i)];
}

template <typename In, typename Out>
void compare(const Case& c, const Buffer<In>& a, const Buffer<In>& b, const Buffer<Out>& d,
             const std::vector<float>& bias, int lda, int ldb, int ldd, double tolerance) {
  const auto got = d.back();
  const size_t sa = a.host.size() / c.batches, sb = b.host.size() / c.batches, sd = d.host.size() / c.batches;
  for (int batch = 0; batch < c.batches; ++batch)
    for (int j = 0; j < c.n; ++j)
      for (int i = 0; i < c.m; ++i) {
        double want = 0, scale = 1;
        for (int p = 0; p < c.k; ++p) {
          const double term = at(a.host, batch * sa, i, p, lda, c.ta, c.row_major) *
                              at(b.host, batch * sb, p, j, ldb, c.tb, c.row_major);
          want += term;
          scale += std::fabs(term);
        }
        want = c.alpha * want;
        if (c.beta != 0) want += c.beta * at(d.host, batch * sd, i, j, ldd, false, c.row_major);
        if (c.bias) want += bias[i];
        want = activated(want, c.activation);
        const double is = at(got, batch * sd, i, j, ldd, false, c.row_major);
        if (!(std::fabs(is - want) <= tolerance * scale)) {
          std::printf("%s m %d n %d k %d ta %d tb %d alpha %g beta %g batch %d: (%d, %d) is %.9g, not %.9g\n",
                      c.name, c.m, c.n, c.k, c.ta, c.tb, c.alpha, c.beta, batch, i, j, is, want);
          std::exit(1);
        }
      }
  ++products;
}

/// How exact its results are, and how large its elements: integers of one or less would all be 0.
template <typename T> struct Of;
template <> struct Of<float> { static constexpr cudaDataType_t type = CUDA_R_32F; static constexpr double tolerance = 1e-6, size = 1; };
template <> struct Of<double> { static constexpr cudaDataType_t type = CUDA_R_64F; static constexpr double tolerance = 1e-15, size = 1; };
template <> struct Of<__half> { static constexpr cudaDataType_t type = CUDA_R_16F; static constexpr double tolerance = 1e-3, size = 1; };
template <> struct Of<__nv_bfloat16> { static constexpr cudaDataType_t type = CUDA_R_16BF; static constexpr double tolerance = 8e-3, size = 1; };

template <> struct Of<int8_t> { static constexpr cudaDataType_t type = CUDA_R_8I; static constexpr double tolerance = 0, size = 100; };
template <> struct Of<int32_t> { static constexpr cudaDataType_t type = CUDA_R_32I; static constexpr double tolerance = 0, size = 1000; };

template <typename In, typename Out, typename Scale>
void by_cublas(cublasHandle_t handle, Case c, cublasComputeType_t compute, int way) {
  const int lda = (c.ta ? c.k : c.m) + 3, ldb = (c.tb ? c.n : c.k) + 1, ldc = c.m + 2;
  const size_t sa = (size_t)lda * (c.ta ? c.m : c.k), sb = (size_t)ldb * (c.tb ? c.k : c.n), sc = (size_t)ldc * c.n;
  Buffer<In> a(sa * c.batches, 1, Of<In>::size), b(sb * c.batches, 2, Of<In>::size);
  Buffer<Out> d(sc * c.batches, 3, Of<Out>::size);
  const Scale alpha = (Scale)c.alpha, beta = (Scale)c.beta;
  const auto ta = c.ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb = c.tb ? CUBLAS_OP_T : CUBLAS_OP_N;
  if (way == 0) {
    OK(cublasGemmStridedBatchedEx(handle, ta, tb, c.m, c.n, c.k, &alpha, a.device, Of<In>::type, lda, sa, b.device,
                                  Of<In>::type, ldb, sb, &beta, d.device, Of<Out>::type, ldc, sc, c.batches, compute,
                                  CUBLAS_GEMM_DEFAULT));
  } else {
    std::vector<void*> places;
    for (int i = 0; i < c.batches; ++i) {
      places.push_back(a.device + i * sa);
      places.push_back(b.device + i * sb);
      places.push_back(d.device + i * sc);
    }
    std::vector<void*> sorted;
    for (int part = 0; part < 3; ++part)
      for (int i = 0; i < c.batches; ++i) sorted.push_back(places[3 * i + part]);
    void** lists;
    OK(cudaMalloc(&lists, sorted.size() * sizeof(void*)));
    OK(cudaMemcpy(lists, sorted.data(), sorted.size() * sizeof(void*), cudaMemcpyHostToDevice));
    OK(cublasGemmBatchedEx(handle, ta, tb, c.m, c.n, c.k, &alpha, lists, Of<In>::type, lda, lists + c.batches,
                           Of<In>::type, ldb, &beta, lists + 2 * c.batches, Of<Out>::type, ldc, c.batches, compute,
                           CUBLAS_GEMM_DEFAULT));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(lists));
  }
  compare(c, a, b, d, {}, lda, ldb, ldc, Of<Out>::tolerance);
}

template <typename In, typename Out, typename Scale = float>
void by_lt(cublasLtHandle_t handle, Case c, cublasComputeType_t compute = CUBLAS_COMPUTE_32F) {
  const auto ld = [&](int rows, int columns) { return (c.row_major ? columns : rows) + 2; };
  const int ar = c.ta ? c.k : c.m, ac = c.ta ? c.m : c.k, br = c.tb ? c.n : c.k, bc = c.tb ? c.k : c.n;
  const int lda = ld(ar, ac), ldb = ld(br, bc), ldd = ld(c.m, c.n);
  const size_t sa = (size_t)lda * (c.row_major ? ar : ac), sb = (size_t)ldb * (c.row_major ? br : bc);
  const size_t sd = (size_t)ldd * (c.row_major ? c.m : c.n);
  Buffer<In> a(sa * c.batches, 1, Of<In>::size), b(sb * c.batches, 2, Of<In>::size);
  Buffer<Out> d(sd * c.batches, 3, Of<Out>::size);
  Buffer<float> bias(c.m, 4, 1);
  cublasLtMatmulDesc_t product;
  OK(cublasLtMatmulDescCreate(&product, compute, Of<Scale>::type));
  const auto ta = c.ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb = c.tb ? CUBLAS_OP_T : CUBLAS_OP_N;
  OK(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta));
  OK(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb));
  const auto epilogue = (cublasLtEpilogue_t)((c.activation == 1 ? 2 : c.activation == 2 ? 32 : 0) | (c.bias ? 4 : 0));
  const auto chosen = epilogue == 0 ? CUBLASLT_EPILOGUE_DEFAULT : epilogue;
  OK(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &chosen, sizeof chosen));
  if (c.bias) {
    const cudaDataType_t type = CUDA_R_32F;
    OK(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias.device, sizeof bias.device));
    OK(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type));
  }
  cublasLtMatrixLayout_t layouts[3];
  OK(cublasLtMatrixLayoutCreate(&layouts[0], Of<In>::type, ar, ac, lda));
  OK(cublasLtMatrixLayoutCreate(&layouts[1], Of<In>::type, br, bc, ldb));
  OK(cublasLtMatrixLayoutCreate(&layouts[2], Of<Out>::type, c.m, c.n, ldd));
  const int64_t strides[3] = {(int64_t)sa, (int64_t)sb, (int64_t)sd};
  for (int i = 0; i < 3; ++i) {
    const auto order = c.row_major ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    OK(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
    OK(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &c.batches, sizeof c.batches));
    OK(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &strides[i],
                                        sizeof strides[i]));
  }
  cublasLtMatmulPreference_t preference;
  OK(cublasLtMatmulPreferenceCreate(&preference));
  cublasLtMatmulHeuristicResult_t heuristic;
  int found = 0;
  OK(cublasLtMatmulAlgoGetHeuristic(handle, product, layouts[0], layouts[1], layouts[2], layouts[2], preference, 1,
                                    &heuristic, &found));
  const Scale alpha = (Scale)c.alpha, beta = (Scale)c.beta;
  OK(cublasLtMatmul(handle, product, &alpha, a.device, layouts[0], b.device, layouts[1], &beta, d.device, layouts[2],
                    d.device, layouts[2], &heuristic.algo, nullptr, 0, nullptr));
  compare(c, a, b, d, bias.host, lda, ldb, ldd, Of<Out>::tolerance);
  OK(cublasLtMatmulPreferenceDestroy(preference));
  for (auto layout : layouts) OK(cublasLtMatrixLayoutDestroy(layout));
  OK(cublasLtMatmulDescDestroy(product));
}

int main() {
  cublasHandle_t handle;
  OK(cublasCreate(&handle));
  for (int way : {0, 1})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        const Case one{"products", 70, 33, 45, 2, ta, tb, 1.5, 0}, two{"sums", 5, 68, 17, 1, ta, tb, 1, 0.5};
        for (const Case& c : {one, two}) {
          by_cublas<float, float, float>(handle, c, CUBLAS_COMPUTE_32F, way);
          by_cublas<double, double, double>(handle, c, CUBLAS_COMPUTE_64F, way);
          by_cublas<__half, __half, float>(handle, c, CUBLAS_COMPUTE_32F, way);
          by_cublas<__half, float, float>(handle, c, CUBLAS_COMPUTE_32F, way);
          by_cublas<__nv_bfloat16, __nv_bfloat16, float>(handle, c, CUBLAS_COMPUTE_32F, way);
          by_cublas<__nv_bfloat16, float, float>(handle, c, CUBLAS_COMPUTE_32F, way);
        }
        // Integers: whole factors, and not a unit of difference.
        const Case whole{"integers", 36, 28, 44, 2, ta, tb, 3, 0}, sum{"sums of integers", 8, 20, 64, 1, ta, tb, 1, -2};
        for (const Case& c : {whole, sum}) by_cublas<int8_t, int32_t, int32_t>(handle, c, CUBLAS_COMPUTE_32I, way);
      }
  // The short names, with factors in device memory.
  Buffer<float> factors(2, 9, 1), a(12, 1, 1), x(4, 2, 1), y(3, 3, 1);
  const float numbers[2] = {2, 0};
  OK(cudaMemcpy(factors.device, numbers, sizeof numbers, cudaMemcpyHostToDevice));
  OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  OK(cublasSgemv(handle, CUBLAS_OP_N, 3, 4, factors.device, a.device, 3, x.device, 1, factors.device + 1, y.device, 1));
  compare({"gemv", 3, 1, 4, 1, false, false, 2, 0}, a, x, y, {}, 3, 4, 3, 1e-6);
  OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 1, 4, factors.device, a.device, 3, x.device, 4,
                 factors.device + 1, y.device, 3));
  compare({"gemm", 3, 1, 4, 1, false, false, 2, 0}, a, x, y, {}, 3, 4, 3, 1e-6);
  OK(cublasDestroy(handle));

  cublasLtHandle_t light;
  OK(cublasLtCreate(&light));
  for (bool row_major : {false, true})
    for (bool ta : {false, true})
      for (int activation : {0, 1, 2})
        for (bool bias : {false, true}) {
          const Case c{"Lt", 40, 66, 50, 2, ta, !ta, 1, bias ? 1.0 : 0.0, row_major, activation, bias};
          by_lt<__nv_bfloat16, __nv_bfloat16>(light, c);
          by_lt<float, float>(light, c);
        }
  for (bool row_major : {false, true})
    for (bool ta : {false, true})
      by_lt<int8_t, int32_t, int32_t>(light, {"Lt integers", 32, 24, 48, 2, ta, !ta, 2, -1, row_major}, CUBLAS_COMPUTE_32I);
  OK(cublasLtDestroy(light));
  std::printf("%d products agree\n", products);
  return 0;
}

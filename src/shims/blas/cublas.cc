// SPDX-License-Identifier: Apache-2.0
// libcublas.so.13: handles, and the gemm and gemv families. What is not here is refused by name
// (tools/library_stubs.py).
#include <cuda_fp16.h>

#include "shims/blas/blas_calls.h"

using namespace cuco::blas;  // NOLINT(google-build-using-namespace): the ABI is global

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  int sm_count = 0;
};

namespace {

/// Sizes and leading dimensions, whatever their integers are.
struct Sizes {
  long long m, n, k, lda, ldb, ldc;
};
struct Types {
  cudaDataType_t a, b, c, scale;
};

bool fits(const Sizes& s, cublasOperation_t ta, cublasOperation_t tb) {
  const auto at_least = [](long long ld, long long rows) { return ld >= (rows > 1 ? rows : 1); };
  return s.m >= 0 && s.n >= 0 && s.k >= 0 && s.m < (1LL << 31) && s.n < (1LL << 31) &&
         s.k < (1LL << 31) && at_least(s.lda, ta == CUBLAS_OP_N ? s.m : s.k) &&
         at_least(s.ldb, tb == CUBLAS_OP_N ? s.k : s.n) && at_least(s.ldc, s.m);
}

/// Where the matrices are: one each, with strides from one to the next, or lists.
struct Places {
  const void *a = nullptr, *b = nullptr;
  void* c = nullptr;
  long long stride_a = 0, stride_b = 0, stride_c = 0;
  const void *const *list_a = nullptr, *const *list_b = nullptr;
  void* const* list_c = nullptr;
  long long count = 1;
};

cublasStatus_t multiply(const char* function,
                        cublasHandle_t handle,
                        cublasOperation_t ta,
                        cublasOperation_t tb,
                        const Sizes& sizes,
                        const Types& types,
                        const void* alpha,
                        const void* beta,
                        const Places& places) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!fits(sizes, ta, tb) || places.count < 0 || alpha == nullptr || beta == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool on_device = handle->pointers == CUBLAS_POINTER_MODE_DEVICE;
  Gemm gemm;
  gemm.m = static_cast<int>(sizes.m);
  gemm.n = static_cast<int>(sizes.n);
  gemm.k = static_cast<int>(sizes.k);
  gemm.batches = static_cast<int>(places.count);
  gemm.a = column_major(places.a, types.a, sizes.lda, ta, places.stride_a);
  gemm.b = column_major(places.b, types.b, sizes.ldb, tb, places.stride_b);
  gemm.c = column_major(places.c, types.c, sizes.ldc, CUBLAS_OP_N, places.stride_c);
  gemm.a.list = places.list_a;
  gemm.b.list = places.list_b;
  gemm.c.list = const_cast<const void* const*>(places.list_c);
  gemm.d = gemm.c;
  gemm.alpha = scalar(alpha, types.scale, on_device);
  gemm.beta = scalar(beta, types.scale, on_device);
  return enqueue(function, gemm, handle->stream);
}

cublasStatus_t with_compute(const char* function, cublasComputeType_t compute, Types* types) {
  if (scale_type(compute, &types->scale)) return CUBLAS_STATUS_SUCCESS;
  return refuse(function, "this compute type is not part of the virtual library");
}

/// y = alpha op(A) x + beta y, as a product with a matrix of one column.
template <typename T>
cublasStatus_t gemv(const char* function,
                    cublasHandle_t handle,
                    cublasOperation_t trans,
                    long long m,
                    long long n,
                    const T* alpha,
                    const T* a,
                    long long lda,
                    const T* x,
                    long long incx,
                    const T* beta,
                    T* y,
                    long long incy) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || lda < (m > 1 ? m : 1)) return CUBLAS_STATUS_INVALID_VALUE;
  if (incx < 1 || incy < 1) return refuse(function, "only positive increments are supported");
  const cudaDataType_t type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
  const bool on_device = handle->pointers == CUBLAS_POINTER_MODE_DEVICE;
  Gemm gemm;
  gemm.m = static_cast<int>(trans == CUBLAS_OP_N ? m : n);
  gemm.n = 1;
  gemm.k = static_cast<int>(trans == CUBLAS_OP_N ? n : m);
  gemm.a = column_major(a, type, lda, trans);
  gemm.b = {.data = x, .row = incx, .column = 1, .type = type};
  gemm.c = {.data = y, .row = incy, .column = 1, .type = type};
  gemm.d = gemm.c;
  gemm.alpha = scalar(alpha, type, on_device);
  gemm.beta = scalar(beta, type, on_device);
  return enqueue(function, gemm, handle->stream);
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void*, size_t) {
  return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}

#define CUCO_PROPERTY(name, type, field)                               \
  cublasStatus_t cublasSet##name(cublasHandle_t handle, type value) {  \
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;       \
    handle->field = value;                                             \
    return CUBLAS_STATUS_SUCCESS;                                      \
  }                                                                    \
  cublasStatus_t cublasGet##name(cublasHandle_t handle, type* value) { \
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;       \
    if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;          \
    *value = handle->field;                                            \
    return CUBLAS_STATUS_SUCCESS;                                      \
  }
CUCO_PROPERTY(Stream_v2, cudaStream_t, stream)
CUCO_PROPERTY(MathMode, cublasMath_t, math)
CUCO_PROPERTY(PointerMode_v2, cublasPointerMode_t, pointers)
CUCO_PROPERTY(AtomicsMode, cublasAtomicsMode_t, atomics)
CUCO_PROPERTY(SmCountTarget, int, sm_count)
#undef CUCO_PROPERTY

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "unknown cublasStatus_t";
  }
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return cublasGetStatusName(status);
}

// Each call with int and with int64_t.
#define CUCO_GEMMS(suffix, Int)                                                                    \
  cublasStatus_t cublasGemmEx##suffix(                                                             \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,      \
      const void* alpha, const void* a, cudaDataType at, Int lda, const void* b, cudaDataType bt,  \
      Int ldb, const void* beta, void* c, cudaDataType ct, Int ldc, cublasComputeType_t compute,   \
      cublasGemmAlgo_t) {                                                                          \
    Types types{at, bt, ct, CUDA_R_32F};                                                           \
    if (const auto status = with_compute("cublasGemmEx" #suffix, compute, &types)) return status;  \
    return multiply("cublasGemmEx" #suffix, handle, ta, tb, {m, n, k, lda, ldb, ldc}, types,       \
                    alpha, beta, {.a = a, .b = b, .c = c});                                        \
  }                                                                                                \
  cublasStatus_t cublasGemmStridedBatchedEx##suffix(                                               \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,      \
      const void* alpha, const void* a, cudaDataType at, Int lda, long long int sa, const void* b, \
      cudaDataType bt, Int ldb, long long int sb, const void* beta, void* c, cudaDataType ct,      \
      Int ldc, long long int sc, Int count, cublasComputeType_t compute, cublasGemmAlgo_t) {       \
    Types types{at, bt, ct, CUDA_R_32F};                                                           \
    if (const auto status = with_compute("cublasGemmStridedBatchedEx" #suffix, compute, &types))   \
      return status;                                                                               \
    return multiply(                                                                               \
        "cublasGemmStridedBatchedEx" #suffix, handle, ta, tb, {m, n, k, lda, ldb, ldc}, types,     \
        alpha, beta,                                                                               \
        {.a = a, .b = b, .c = c, .stride_a = sa, .stride_b = sb, .stride_c = sc, .count = count}); \
  }                                                                                                \
  cublasStatus_t cublasGemmBatchedEx##suffix(                                                      \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,      \
      const void* alpha, const void* const a[], cudaDataType at, Int lda, const void* const b[],   \
      cudaDataType bt, Int ldb, const void* beta, void* const c[], cudaDataType ct, Int ldc,       \
      Int count, cublasComputeType_t compute, cublasGemmAlgo_t) {                                  \
    Types types{at, bt, ct, CUDA_R_32F};                                                           \
    if (const auto status = with_compute("cublasGemmBatchedEx" #suffix, compute, &types))          \
      return status;                                                                               \
    return multiply("cublasGemmBatchedEx" #suffix, handle, ta, tb, {m, n, k, lda, ldb, ldc},       \
                    types, alpha, beta, {.list_a = a, .list_b = b, .list_c = c, .count = count});  \
  }
CUCO_GEMMS(, int)
CUCO_GEMMS(_64, int64_t)
#undef CUCO_GEMMS

#define CUCO_TYPED(letter, version, T, type, suffix, Int)                                          \
  cublasStatus_t cublas##letter##gemm##version##suffix(                                            \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,      \
      const T* alpha, const T* a, Int lda, const T* b, Int ldb, const T* beta, T* c, Int ldc) {    \
    return multiply("cublas" #letter "gemm" #suffix, handle, ta, tb, {m, n, k, lda, ldb, ldc},     \
                    {type, type, type, type}, alpha, beta, {.a = a, .b = b, .c = c});              \
  }                                                                                                \
  cublasStatus_t cublas##letter##gemmStridedBatched##suffix(                                       \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,      \
      const T* alpha, const T* a, Int lda, long long int sa, const T* b, Int ldb,                  \
      long long int sb, const T* beta, T* c, Int ldc, long long int sc, Int count) {               \
    return multiply(                                                                               \
        "cublas" #letter "gemmStridedBatched" #suffix, handle, ta, tb, {m, n, k, lda, ldb, ldc},   \
        {type, type, type, type}, alpha, beta,                                                     \
        {.a = a, .b = b, .c = c, .stride_a = sa, .stride_b = sb, .stride_c = sc, .count = count}); \
  }                                                                                                \
  cublasStatus_t cublas##letter##gemmBatched##suffix(                                              \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,      \
      const T* alpha, const T* const a[], Int lda, const T* const b[], Int ldb, const T* beta,     \
      T* const c[], Int ldc, Int count) {                                                          \
    return multiply("cublas" #letter "gemmBatched" #suffix, handle, ta, tb,                        \
                    {m, n, k, lda, ldb, ldc}, {type, type, type, type}, alpha, beta,               \
                    {.list_a = reinterpret_cast<const void* const*>(a),                            \
                     .list_b = reinterpret_cast<const void* const*>(b),                            \
                     .list_c = reinterpret_cast<void* const*>(c),                                  \
                     .count = count});                                                             \
  }
CUCO_TYPED(S, _v2, float, CUDA_R_32F, , int)
CUCO_TYPED(S, _v2, float, CUDA_R_32F, _64, int64_t)
CUCO_TYPED(D, _v2, double, CUDA_R_64F, , int)
CUCO_TYPED(D, _v2, double, CUDA_R_64F, _64, int64_t)
CUCO_TYPED(H, , __half, CUDA_R_16F, , int)
CUCO_TYPED(H, , __half, CUDA_R_16F, _64, int64_t)
#undef CUCO_TYPED

cublasStatus_t cublasSgemv_v2(cublasHandle_t handle,
                              cublasOperation_t trans,
                              int m,
                              int n,
                              const float* alpha,
                              const float* a,
                              int lda,
                              const float* x,
                              int incx,
                              const float* beta,
                              float* y,
                              int incy) {
  return gemv("cublasSgemv", handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
}
cublasStatus_t cublasDgemv_v2(cublasHandle_t handle,
                              cublasOperation_t trans,
                              int m,
                              int n,
                              const double* alpha,
                              const double* a,
                              int lda,
                              const double* x,
                              int incx,
                              const double* beta,
                              double* y,
                              int incy) {
  return gemv("cublasDgemv", handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

}  // extern "C"

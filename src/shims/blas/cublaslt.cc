// SPDX-License-Identifier: Apache-2.0
// libcublasLt.so.13: matrix products with layouts and epilogues. Its descriptors are memory of the
// caller's, so they hold plain data of ours.
#include <cstdint>
#include <cstring>
#include <new>

#include <cublasLt.h>

#include "shims/blas/blas_calls.h"

using namespace cuco::blas;  // NOLINT(google-build-using-namespace): the ABI is global

namespace {

struct Layout {
  cudaDataType_t type;
  cublasLtOrder_t order;
  std::uint64_t rows, columns;
  std::int64_t ld;
  std::int32_t batches;
  std::int64_t batch_stride;
};
struct Product {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasLtPointerMode_t pointers;
  cublasOperation_t transpose_a, transpose_b;
  cublasLtEpilogue_t epilogue;
  const void* bias;
  std::int64_t bias_batch;
  int bias_type;  ///< -1: that of D.
};
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(Product) <= sizeof(cublasLtMatmulDescOpaque_t));

Layout& of(cublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<Layout*>(layout);
}
Product& of(cublasLtMatmulDesc_t product) {
  return *reinterpret_cast<Product*>(product);
}

constexpr const char* kUnsupported = "this attribute is not supported";

/// Where an attribute is kept; nowhere, if it is not supported.
struct Field {
  void* data = nullptr;
  std::size_t size = 0;

  template <typename T>
  static Field of(T& field) {
    return {&field, sizeof(T)};
  }
  cublasStatus_t set(const char* function, const void* from, std::size_t bytes) const {
    if (data == nullptr) return refuse(function, kUnsupported);
    if (from == nullptr || bytes != size) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(data, from, size);
    return CUBLAS_STATUS_SUCCESS;
  }
  cublasStatus_t get(const char* function,
                     void* to,
                     std::size_t bytes,
                     std::size_t* written) const {
    if (data == nullptr) return refuse(function, kUnsupported);
    if (written != nullptr) *written = size;
    if (bytes == 0) return CUBLAS_STATUS_SUCCESS;
    if (to == nullptr || bytes < size) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(to, data, size);
    return CUBLAS_STATUS_SUCCESS;
  }
};

Field field_of(Layout& layout, cublasLtMatrixLayoutAttribute_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return Field::of(layout.type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return Field::of(layout.order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return Field::of(layout.rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return Field::of(layout.columns);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return Field::of(layout.ld);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return Field::of(layout.batches);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return Field::of(layout.batch_stride);
    default:
      return {};
  }
}
Field field_of(Product& product, cublasLtMatmulDescAttributes_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return Field::of(product.compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return Field::of(product.scale);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return Field::of(product.pointers);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return Field::of(product.transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return Field::of(product.transpose_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return Field::of(product.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return Field::of(product.bias);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return Field::of(product.bias_batch);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return Field::of(product.bias_type);
    default:
      return {};
  }
}

/// op(M) with its strides.
Matrix matrix_of(const Layout& layout, const void* data, cublasOperation_t op) {
  Matrix matrix{.data = data, .batch = layout.batch_stride, .type = layout.type};
  const bool by_columns = layout.order == CUBLASLT_ORDER_COL;
  const bool as_it_is = op == CUBLAS_OP_N;
  matrix.row = by_columns == as_it_is ? 1 : layout.ld;
  matrix.column = by_columns == as_it_is ? layout.ld : 1;
  return matrix;
}

bool set_epilogue(const Product& product, const Layout& d, Gemm* gemm) {
  const int kind = product.epilogue;
  const int known = CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_BIAS |
                    CUBLASLT_EPILOGUE_GELU;
  if ((kind & ~known) != 0) return false;
  if ((kind & CUBLASLT_EPILOGUE_RELU) != 0) gemm->activation = Activation::Relu;
  if ((kind & CUBLASLT_EPILOGUE_GELU) != 0) gemm->activation = Activation::Gelu;
  if ((kind & CUBLASLT_EPILOGUE_BIAS) == 0) return true;
  gemm->bias = product.bias;
  gemm->bias_batch = product.bias_batch;
  gemm->bias_type =
      product.bias_type >= 0 ? static_cast<cudaDataType_t>(product.bias_type) : d.type;
  return gemm->bias != nullptr;
}

constexpr const char* kMatmul = "cublasLtMatmul";

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = reinterpret_cast<cublasLtHandle_t>(new int(0));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion(void) {
  return CUBLAS_VERSION;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout,
                                                 size_t size,
                                                 cudaDataType type,
                                                 uint64_t rows,
                                                 uint64_t columns,
                                                 int64_t ld) {
  if (layout == nullptr || size < sizeof(Layout)) return CUBLAS_STATUS_INVALID_VALUE;
  of(layout) = {type, CUBLASLT_ORDER_COL, rows, columns, ld, 1, 0};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout,
                                          cudaDataType type,
                                          uint64_t rows,
                                          uint64_t columns,
                                          int64_t ld) {
  if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new (std::nothrow) cublasLtMatrixLayoutOpaque_t{};
  return cublasLtMatrixLayoutInit_internal(*layout, sizeof **layout, type, rows, columns, ld);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* from,
                                                size_t bytes) {
  return field_of(of(layout), attribute).set(__func__, from, bytes);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                void* to,
                                                size_t bytes,
                                                size_t* written) {
  return field_of(of(layout), attribute).get(__func__, to, bytes, written);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t product,
                                               size_t size,
                                               cublasComputeType_t compute,
                                               cudaDataType_t scale) {
  if (product == nullptr || size < sizeof(Product)) return CUBLAS_STATUS_INVALID_VALUE;
  of(product) = {compute,     scale,       CUBLASLT_POINTER_MODE_HOST,
                 CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT,
                 nullptr,     0,           -1};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (product == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *product = new (std::nothrow) cublasLtMatmulDescOpaque_t{};
  return cublasLtMatmulDescInit_internal(*product, sizeof **product, compute, scale);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete product;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* from,
                                              size_t bytes) {
  // They are of speed, not of results.
  const bool of_speed = attribute == CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET ||
                        attribute == CUBLASLT_MATMUL_DESC_FAST_ACCUM;
  return of_speed ? CUBLAS_STATUS_SUCCESS
                  : field_of(of(product), attribute).set(__func__, from, bytes);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              void* to,
                                              size_t bytes,
                                              size_t* written) {
  return field_of(of(product), attribute).get(__func__, to, bytes, written);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                                     size_t) {
  return preference == nullptr ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  if (preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *preference = new (std::nothrow) cublasLtMatmulPreferenceOpaque_t{};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
/// There is one algorithm and it needs no workspace: any preference is met.
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*,
                                                    size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t,
                                              cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t,
                                              int requested,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  if (requested < 1 || results == nullptr || found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  results[0] = {};
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle,
                              cublasLtMatmulDesc_t described,
                              const void* alpha,
                              const void* a,
                              cublasLtMatrixLayout_t a_layout,
                              const void* b,
                              cublasLtMatrixLayout_t b_layout,
                              const void* beta,
                              const void* c,
                              cublasLtMatrixLayout_t c_layout,
                              void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t*,
                              void*,
                              size_t,
                              cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (described == nullptr || a_layout == nullptr || b_layout == nullptr || c_layout == nullptr ||
      d_layout == nullptr || alpha == nullptr || beta == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Product& product = of(described);
  const Layout &la = of(a_layout), &lb = of(b_layout), &lc = of(c_layout), &ld = of(d_layout);
  for (const Layout* layout : {&la, &lb, &lc, &ld}) {
    if (layout->order != CUBLASLT_ORDER_COL && layout->order != CUBLASLT_ORDER_ROW)
      return refuse(kMatmul, "matrices must be in column or row order");
  }
  if (product.pointers != CUBLASLT_POINTER_MODE_HOST &&
      product.pointers != CUBLASLT_POINTER_MODE_DEVICE)
    return refuse(kMatmul, "alpha and beta must be one number each");
  cudaDataType_t scale = product.scale;
  if (!scale_type(product.compute, &scale))
    return refuse(kMatmul, "this compute type is not part of the virtual library");
  const bool on_device = product.pointers == CUBLASLT_POINTER_MODE_DEVICE;
  Gemm gemm;
  gemm.m = static_cast<int>(ld.rows);
  gemm.n = static_cast<int>(ld.columns);
  gemm.k = static_cast<int>(product.transpose_a == CUBLAS_OP_N ? la.columns : la.rows);
  const auto inner = product.transpose_b == CUBLAS_OP_N ? lb.rows : lb.columns;
  if (static_cast<std::uint64_t>(gemm.k) != inner) return CUBLAS_STATUS_INVALID_VALUE;
  gemm.batches = ld.batches;
  gemm.a = matrix_of(la, a, product.transpose_a);
  gemm.b = matrix_of(lb, b, product.transpose_b);
  gemm.c = matrix_of(lc, c, CUBLAS_OP_N);
  gemm.d = matrix_of(ld, d, CUBLAS_OP_N);
  gemm.alpha = scalar(alpha, product.scale, on_device);
  gemm.beta = scalar(beta, product.scale, on_device);
  if (!set_epilogue(product, ld, &gemm))
    return refuse(kMatmul, "epilogues are none, ReLU, GELU and bias; this one is not supported");
  return enqueue(kMatmul, gemm, stream);
}

}  // extern "C"

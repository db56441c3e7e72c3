// SPDX-License-Identifier: Apache-2.0
// The driver API: a program compiled at run time, loaded, linked and launched; memory, streams,
// contexts, names; and its mixture with the runtime.
// expect: the driver API is right
#include <cstring>
#include <string>
#include <vector>

#include <cuda.h>
#include <nvrtc.h>

#include "check.h"

#define DRIVER(call) CHECK((call) == CUDA_SUCCESS)

// Without device code of its own the program has no context before it makes one.
constexpr const char* kSource = R"(
__constant__ int factor = 3;
__device__ int total;
struct Pair { short small; double large; };
extern "C" __global__ void scale(int* data, Pair pair, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { data[i] = data[i] * factor + pair.small + (int)pair.large; atomicAdd(&total, 1); }
}
)";
// Two modules of one program: the first calls a function of the second.
constexpr const char* kCaller = R"(
extern "C" __device__ int twice(int value);
extern "C" __global__ void apply(int* data) { data[threadIdx.x] = twice(data[threadIdx.x]); }
)";
constexpr const char* kCallee = R"(
extern "C" __device__ int twice(int value) { return 2 * value; }
)";

std::vector<char> compile(const char* source, std::vector<const char*> options, bool machine_code) {
  nvrtcProgram program;
  CHECK(nvrtcCreateProgram(&program, source, "program.cu", 0, nullptr, nullptr) == NVRTC_SUCCESS);
  CHECK(nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data()) ==
        NVRTC_SUCCESS);
  std::size_t bytes = 0;
  CHECK((machine_code ? nvrtcGetCUBINSize : nvrtcGetPTXSize)(program, &bytes) == NVRTC_SUCCESS);
  std::vector<char> code(bytes);
  CHECK((machine_code ? nvrtcGetCUBIN : nvrtcGetPTX)(program, code.data()) == NVRTC_SUCCESS);
  nvrtcDestroyProgram(&program);
  return code;
}

struct Pair {
  short small;
  double large;
};

void launches() {
  const auto code = compile(kSource, {"--gpu-architecture=sm_90"}, true);
  CUmodule module;
  CUfunction scale;
  DRIVER(cuModuleLoadData(&module, code.data()));
  DRIVER(cuModuleGetFunction(&scale, module, "scale"));
  CHECK(cuModuleGetFunction(&scale, module, "missing") == CUDA_ERROR_NOT_FOUND);
  DRIVER(cuModuleGetFunction(&scale, module, "scale"));
  int threads = 0;
  DRIVER(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale));
  CHECK(threads == 1024);

  constexpr int kCount = 1000;
  CUdeviceptr data, total;
  std::size_t bytes = 0;
  DRIVER(cuMemAlloc(&data, kCount * sizeof(int)));
  DRIVER(cuMemsetD32(data, 5, kCount));
  DRIVER(cuCtxSynchronize());  // a set does not wait, nor does the stream below
  CUstream stream;
  CUevent start, end;
  DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  DRIVER(cuEventCreate(&start, CU_EVENT_DEFAULT));
  DRIVER(cuEventCreate(&end, CU_EVENT_DEFAULT));
  Pair pair{7, 11.5};
  int n = kCount;
  void* arguments[] = {&data, &pair, &n};
  DRIVER(cuEventRecord(start, stream));
  DRIVER(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr));
  DRIVER(cuEventRecord(end, stream));
  DRIVER(cuEventSynchronize(end));
  float milliseconds = 0;
  DRIVER(cuEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds > 0);
  // The same by a buffer, laid out as the kernel's parameters are.
  struct {
    CUdeviceptr data;
    Pair pair;
    int n;
  } buffer{data, {1, 0}, kCount};
  std::size_t buffer_bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &buffer_bytes, CU_LAUNCH_PARAM_END};
  DRIVER(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, stream, nullptr, extra));
  DRIVER(cuStreamSynchronize(stream));
  std::vector<int> out(kCount);
  DRIVER(cuMemcpyDtoH(out.data(), data, kCount * sizeof(int)));
  for (int value : out)
    CHECK(value == (5 * 3 + 18) * 3 + 1);
  DRIVER(cuModuleGetGlobal(&total, &bytes, module, "total"));
  int counted = 0;
  CHECK(bytes == sizeof counted);
  DRIVER(cuMemcpyDtoH(&counted, total, bytes));
  CHECK(counted == 2 * kCount);
  int grid = 0, block = 0;
  DRIVER(cuOccupancyMaxPotentialBlockSize(&grid, &block, scale, nullptr, 0, 0));
  CHECK(block == 1024 && grid == 132 * 2);
  DRIVER(cuModuleUnload(module));
  DRIVER(cuMemFree(data));
  DRIVER(cuStreamDestroy(stream));
}

void links() {
  CUlinkState linker;
  char log[100] = "none";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  DRIVER(cuLinkCreate(2, options, values, &linker));
  for (const char* source : {kCaller, kCallee}) {
    auto ptx = compile(source, {"--gpu-architecture=compute_90", "-rdc=true"}, false);
    DRIVER(cuLinkAddData(linker, CU_JIT_INPUT_PTX, ptx.data(), ptx.size(), "part", 0, nullptr,
                         nullptr));
  }
  void* linked = nullptr;
  std::size_t bytes = 0;
  DRIVER(cuLinkComplete(linker, &linked, &bytes));
  CUmodule module;
  CUfunction apply;
  DRIVER(cuModuleLoadData(&module, linked));
  DRIVER(cuLinkDestroy(linker));
  DRIVER(cuModuleGetFunction(&apply, module, "apply"));
  CUdeviceptr data;
  int values_in[4] = {1, 2, 3, 4};
  DRIVER(cuMemAlloc(&data, sizeof values_in));
  DRIVER(cuMemcpyHtoD(data, values_in, sizeof values_in));
  void* arguments[] = {&data};
  DRIVER(cuLaunchKernel(apply, 1, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr));
  DRIVER(cuMemcpyDtoH(values_in, data, sizeof values_in));
  CHECK(values_in[0] == 2 && values_in[3] == 8);
  DRIVER(cuMemFree(data));
  CUmodule bad;
  CHECK(cuModuleLoadData(&bad, ".version 8.0\n.target sm_90\nnonsense") != CUDA_SUCCESS);
}

void memory() {
  CUdeviceptr pitched, base;
  std::size_t pitch = 0, bytes = 0;
  DRIVER(cuMemAllocPitch(&pitched, &pitch, 40, 6, 4));
  DRIVER(cuMemsetD2D16(pitched, pitch, 0xABCD, 20, 6));
  unsigned short rows[6][20];
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = pitched;
  copy.srcPitch = pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = rows;
  copy.dstPitch = sizeof rows[0];
  copy.WidthInBytes = sizeof rows[0];
  copy.Height = 6;
  DRIVER(cuMemcpy2D(&copy));
  for (const auto& row : rows)
    for (const auto value : row)
      CHECK(value == 0xABCD);
  DRIVER(cuMemGetAddressRange(&base, &bytes, pitched + 100));
  CHECK(base == pitched && bytes >= pitch * 6);
  CUmemorytype type;
  DRIVER(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pitched));
  CHECK(type == CU_MEMORYTYPE_DEVICE);
  int local = 0;
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                              reinterpret_cast<CUdeviceptr>(&local)) == CUDA_ERROR_INVALID_VALUE);
  DRIVER(cuMemFree(pitched));
}

void waits() {
  // One stream waits for what the other writes.
  CUdeviceptr flags;
  DRIVER(cuMemAlloc(&flags, 16));
  DRIVER(cuMemsetD32(flags, 0, 4));
  DRIVER(cuCtxSynchronize());
  CUstream first, second;
  DRIVER(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  DRIVER(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  DRIVER(cuStreamWaitValue32(first, flags, 5, CU_STREAM_WAIT_VALUE_GEQ));
  DRIVER(cuStreamWriteValue64(first, flags + 8, 7ULL << 40, 0));
  CHECK(cuStreamQuery(first) == CUDA_ERROR_NOT_READY);
  DRIVER(cuStreamWriteValue32(second, flags, 6, 0));
  DRIVER(cuStreamWaitValue64(second, flags + 8, 1ULL << 41, CU_STREAM_WAIT_VALUE_AND));
  DRIVER(cuStreamSynchronize(second));
  DRIVER(cuStreamSynchronize(first));
  unsigned long long values[2];
  DRIVER(cuMemcpyDtoH(values, flags, sizeof values));
  CHECK(values[0] == 6 && values[1] == 7ULL << 40);
  DRIVER(cuMemFree(flags));
}

void maps() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  std::size_t granularity = 0;
  DRIVER(
      cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr range;
  DRIVER(cuMemAddressReserve(&range, 2 * granularity, 0, 0, 0));
  for (std::size_t part = 0; part < 2; ++part) {
    CUmemGenericAllocationHandle memory;
    DRIVER(cuMemCreate(&memory, granularity, &properties, 0));
    DRIVER(cuMemMap(range + part * granularity, granularity, 0, memory, 0));
    DRIVER(cuMemRelease(memory));
  }
  CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  DRIVER(cuMemSetAccess(range, 2 * granularity, &access, 1));
  DRIVER(cuMemsetD8(range, 1, 2 * granularity));
  CHECK(cuMemAddressFree(range, 2 * granularity) == CUDA_ERROR_INVALID_VALUE);  // in use
  DRIVER(cuMemUnmap(range, 2 * granularity));
  DRIVER(cuMemAddressFree(range, 2 * granularity));
}

void names() {
  const char* text = nullptr;
  DRIVER(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  CHECK(std::string(text) == "CUDA_ERROR_ILLEGAL_ADDRESS");
  DRIVER(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  CHECK(std::string(text) == "out of memory");
  CHECK(cuGetErrorString(static_cast<CUresult>(12345), &text) == CUDA_ERROR_INVALID_VALUE);
  void* function = nullptr;
  CUdriverProcAddressQueryResult found;
  DRIVER(cuGetProcAddress("cuMemAlloc", &function, 12000, 0, &found));
  CHECK(function == reinterpret_cast<void*>(&cuMemAlloc) && found == CU_GET_PROC_ADDRESS_SUCCESS);
  DRIVER(cuGetProcAddress("cuNoSuchThing", &function, 12000, 0, &found));
  CHECK(function == nullptr && found == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

void with_the_runtime(CUcontext made) {
  cudaDriverEntryPointQueryResult found;
  CUresult (*get_current)(CUcontext*) = nullptr;
  OK(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", reinterpret_cast<void**>(&get_current),
                                      12000, cudaEnableDefault, &found));
  CHECK(found == cudaDriverEntryPointSuccess);
  CUcontext current = nullptr;
  DRIVER(get_current(&current));
  CHECK(current == made);
  DRIVER(cuCtxPopCurrent(&current));
  DRIVER(cuCtxGetCurrent(&current));
  CHECK(current == nullptr);
  OK(cudaSetDevice(0));  // makes the primary context current
  CUcontext primary = nullptr;
  DRIVER(cuDevicePrimaryCtxRetain(&primary, 0));
  DRIVER(cuCtxGetCurrent(&current));
  CHECK(current == primary && current != made);
  // A stream of one is a stream of the other, an error of one not the last error of the other.
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  DRIVER(cuStreamQuery(stream));
  CHECK(cuMemFree(12345) != CUDA_SUCCESS);
  OK(cudaGetLastError());
  CHECK(cuCtxDestroy(made) == CUDA_SUCCESS && cuCtxDestroy(made) == CUDA_ERROR_INVALID_CONTEXT);
}

int main() {
  int count = 0;
  CHECK(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
  DRIVER(cuInit(0));
  DRIVER(cuDeviceGetCount(&count));
  CHECK(count == 1);
  CUdevice device;
  DRIVER(cuDeviceGet(&device, 0));
  CHECK(cuDeviceGet(&device, 5) == CUDA_ERROR_INVALID_DEVICE);
  char name[64];
  DRIVER(cuDeviceGetName(name, sizeof name, device));
  CHECK(std::strlen(name) > 0);
  CUdeviceptr nothing;
  CHECK(cuMemAlloc(&nothing, 16) == CUDA_ERROR_INVALID_CONTEXT);
  CUcontext context;
  DRIVER(cuCtxCreate(&context, nullptr, 0, device));
  launches();
  links();
  memory();
  waits();
  maps();
  names();
  with_the_runtime(context);
  std::printf("the driver API is right\n");
}

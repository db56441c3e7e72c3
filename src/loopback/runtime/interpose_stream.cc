// SPDX-License-Identifier: Apache-2.0
// Streams, events and launches: they belong to the rank whose device is current, and keep the order
// that CUDA promises between the default stream and others.
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <cxxabi.h>

#include "loopback/runtime/interpose.h"

using cuco::loopback::Machine;
using cuco::loopback::Streams;
using cuco::loopback::StreamUse;

namespace cuco::loopback {
namespace {

/// Names of kernels, for people, and what they need before any of them runs.
class Kernels {
 public:
  static Kernels& get() {
    static Kernels& kernels = *new Kernels;
    return kernels;
  }

  void add(void** module, const void* function, const char* mangled) {
    int status = 0;
    char* plain = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    std::string name = plain != nullptr ? plain : mangled;
    std::free(plain);  // NOLINT(cppcoreguidelines-no-malloc): the ABI's.
    const std::string nameless = "(anonymous namespace)::";
    for (std::size_t at = name.find(nameless); at != std::string::npos; at = name.find(nameless))
      name.erase(at, nameless.size());
    name.resize(std::min(name.find('('), name.size()));
    const std::lock_guard lock(mutex_);
    incoming_[module].push_back(function);
    names_[function] = "kernel " + name;
  }
  void alias(const void* handle, const void* function) {
    const std::lock_guard lock(mutex_);
    if (const auto found = names_.find(function); found != names_.end())
      names_[handle] = found->second;
  }
  const char* name(const void* function) {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(function);
    return found == names_.end() ? "a kernel" : found->second.c_str();
  }
  /// A module has told of all its kernels: one of the program, or of a library that it loads later.
  void end_of(void** module) {
    {
      const std::lock_guard lock(mutex_);
      std::vector<const void*>& arrived = incoming_[module];
      unprepared_.insert(unprepared_.end(), arrived.begin(), arrived.end());
      incoming_.erase(module);
      has_unprepared_ = !unprepared_.empty();
    }
    if (starts_) prepare();
  }
  /// The first communicator is made: from now on ranks may wait for each other, and kernels of what
  /// is loaded later cannot wait for their first launch.
  void start() {
    starts_ = true;
    prepare();
  }

  /// What a launch would do that waits for the kernels that run, and so for ranks that wait for it:
  /// loads all kernels there are into all ranks' contexts, and asks for the largest local memory.
  void prepare() {
    if (!has_unprepared_ && contexts_ == Machine::get().made()) return;
    // Who comes second waits: its kernel must not run while the first one asks.
    const std::lock_guard preparing(preparing_);
    std::vector<const void*> functions;
    {
      const std::lock_guard lock(mutex_);
      prepared_.insert(prepared_.end(), unprepared_.begin(), unprepared_.end());
      functions.swap(unprepared_);
      // A rank's context that is new knows none of them.
      if (const int made = Machine::get().made(); contexts_ != made) {
        functions = prepared_;
        contexts_ = made;
      }
    }
    if (functions.empty()) return;
    const RelaxedCapture relaxed;
    for (int rank = 0; rank < Machine::get().ranks(); ++rank) {
      if (!Machine::get().has_made(rank)) continue;
      const ScopedContext scope(Machine::get().rank(rank).context);
      for (const void* function : functions)
        load(function);
    }
    (void)CUCO_LOOPBACK_REAL(cudaGetLastError)();
    if (largest_ > granted_) Machine::get().grow_local_memory(largest_);
    granted_ = largest_;
    const std::lock_guard lock(mutex_);
    has_unprepared_ = !unprepared_.empty();
  }

 private:
  /// Into the current context.
  void load(const void* function) {
    cudaFunction_t loaded = nullptr;
    if (CUCO_LOOPBACK_REAL(cudaGetFuncBySymbol)(&loaded, function) == cudaSuccess)
      (void)driver().cuFuncLoad(loaded);
    cudaFuncAttributes attributes{};
    if (CUCO_LOOPBACK_REAL(cudaFuncGetAttributes)(&attributes, function) == cudaSuccess)
      largest_ = std::max(largest_, attributes.localSizeBytes);
  }

  std::mutex mutex_;
  std::map<const void*, std::string> names_;
  std::map<void**, std::vector<const void*>> incoming_;  ///< By module, until its end.
  std::vector<const void*> unprepared_, prepared_;
  std::atomic<int> contexts_{0};
  std::atomic<bool> has_unprepared_{false}, starts_{false};
  std::mutex preparing_;
  std::size_t largest_ = 0, granted_ = 0;
};

cudaError_t make_stream(cudaStream_t* out, unsigned flags, int priority) {
  const int rank = Machine::get().current_rank();
  if (out == nullptr) return cudaErrorInvalidValue;
  const RelaxedCapture relaxed;
  const CUresult result = driver().cuGreenCtxStreamCreate(out, Machine::get().rank(rank).green,
                                                          CU_STREAM_NON_BLOCKING, priority);
  if (result == CUDA_SUCCESS) Streams::get().add(rank, *out, (flags & cudaStreamNonBlocking) == 0);
  return error_of(result);
}

}  // namespace

void prepare_kernels() {
  Kernels::get().start();
}

}  // namespace cuco::loopback

using cuco::loopback::Kernels;
using cuco::loopback::make_stream;

CUCO_LOOPBACK_EXPORT cudaError_t cudaStreamCreate(cudaStream_t* out) {
  return make_stream(out, cudaStreamDefault, 0);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  return make_stream(out, flags, 0);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out,
                                                              unsigned flags,
                                                              int priority) {
  return make_stream(out, flags, priority);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Streams::get().remove(stream);
  return CUCO_LOOPBACK_REAL(cudaStreamDestroy)(stream);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const StreamUse use(stream, nullptr);
  const cuco::loopback::ScopedContext scope(Machine::get().rank(use.rank()).context);
  return CUCO_LOOPBACK_REAL(cudaStreamSynchronize)(use.stream());
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const StreamUse use(stream, nullptr);
  return CUCO_LOOPBACK_REAL(cudaStreamQuery)(use.stream());
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream,
                                                     cudaEvent_t event,
                                                     unsigned flags) {
  const StreamUse use(stream, "");
  return CUCO_LOOPBACK_REAL(cudaStreamWaitEvent)(use.stream(), event, flags);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  (void)Machine::get().current_rank();
  return CUCO_LOOPBACK_REAL(cudaEventCreateWithFlags)(event, flags);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const StreamUse use(stream, nullptr);
  return CUCO_LOOPBACK_REAL(cudaEventRecord)(event, use.stream());
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event,
                                                          cudaStream_t stream,
                                                          unsigned flags) {
  const StreamUse use(stream, nullptr);
  return CUCO_LOOPBACK_REAL(cudaEventRecordWithFlags)(event, use.stream(), flags);
}

// Ranks would be processes elsewhere: what one captures forbids the others nothing.
CUCO_LOOPBACK_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                                        cudaStreamCaptureMode mode) {
  const StreamUse use(stream, nullptr);
  if (mode == cudaStreamCaptureModeGlobal) mode = cudaStreamCaptureModeThreadLocal;
  return CUCO_LOOPBACK_REAL(cudaStreamBeginCapture)(use.stream(), mode);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream,
                                                    cudaHostFn_t function,
                                                    void* data) {
  const StreamUse use(stream, "cudaLaunchHostFunc");
  return CUCO_LOOPBACK_REAL(cudaLaunchHostFunc)(use.stream(), function, data);
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  const StreamUse use(stream, "a graph");
  return CUCO_LOOPBACK_REAL(cudaGraphLaunch)(graph, use.stream());
}

// Destroying it waits for all ranks, as freeing memory does: a few KiB are kept until the end.
CUCO_LOOPBACK_EXPORT cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
  return cudaSuccess;
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaLaunchKernel(
    const void* function, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream) {
  Kernels::get().prepare();
  const StreamUse use(stream, Kernels::get().name(function));
  return CUCO_LOOPBACK_REAL(cudaLaunchKernel)(function, grid, block, args, shared, use.stream());
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaLaunchCooperativeKernel(
    const void* function, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream) {
  Kernels::get().prepare();
  const StreamUse use(stream, Kernels::get().name(function));
  return CUCO_LOOPBACK_REAL(cudaLaunchCooperativeKernel)(function, grid, block, args, shared,
                                                         use.stream());
}

CUCO_LOOPBACK_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                                     const void* function,
                                                     void** args) {
  if (config == nullptr) return cudaErrorInvalidValue;
  Kernels::get().prepare();
  const StreamUse use(config->stream, Kernels::get().name(function));
  cudaLaunchConfig_t mine = *config;
  mine.stream = use.stream();
  return CUCO_LOOPBACK_REAL(cudaLaunchKernelExC)(&mine, function, args);
}

// What nvcc's <<< >>> calls, undocumented but exported.
extern "C" {
cudaError_t __cudaLaunchKernel(
    cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function);
void __cudaRegisterFunction(void** fat,
                            const char* host,
                            char* device,
                            const char* name,
                            int limit,
                            void* thread,
                            void* block,
                            void* block_dim,
                            void* grid_dim,
                            int* warp);
void __cudaRegisterFatBinaryEnd(void** fat);
}

CUCO_LOOPBACK_EXPORT cudaError_t __cudaLaunchKernel(
    cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream) {
  Kernels::get().prepare();
  const StreamUse use(stream, Kernels::get().name(kernel));
  return CUCO_LOOPBACK_REAL(__cudaLaunchKernel)(kernel, grid, block, args, shared, use.stream());
}

CUCO_LOOPBACK_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  (void)Machine::get().current_rank();
  const cudaError_t result = CUCO_LOOPBACK_REAL(__cudaGetKernel)(kernel, function);
  if (result == cudaSuccess) Kernels::get().alias(*kernel, function);
  return result;
}

// Called before main: no GPU is touched here.
CUCO_LOOPBACK_EXPORT void __cudaRegisterFunction(void** fat,
                                                 const char* host,
                                                 char* device,
                                                 const char* name,
                                                 int limit,
                                                 void* thread,
                                                 void* block,
                                                 void* block_dim,
                                                 void* grid_dim,
                                                 int* warp) {
  Kernels::get().add(fat, host, name);
  CUCO_LOOPBACK_REAL(__cudaRegisterFunction)
  (fat, host, device, name, limit, thread, block, block_dim, grid_dim, warp);
}

CUCO_LOOPBACK_EXPORT void __cudaRegisterFatBinaryEnd(void** fat) {
  CUCO_LOOPBACK_REAL(__cudaRegisterFatBinaryEnd)(fat);
  Kernels::get().end_of(fat);
}

namespace {

// Modules that are loaded while a kernel spins wait for it: all of them at once, before the runtime
// reads this.
__attribute__((constructor)) void load_eagerly() {
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  // As many as there are; a service that processes share has not that many for all.
  if (!cuco::loopback::is_one_of_several()) ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

}  // namespace

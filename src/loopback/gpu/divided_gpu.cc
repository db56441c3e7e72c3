// SPDX-License-Identifier: Apache-2.0
#include "loopback/gpu/divided_gpu.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "loopback/gpu/pages.h"
#include "loopback/gpu/settings.h"
#include "loopback/sm_plan.h"

// NOLINTNEXTLINE(readability-identifier-naming): as kernels_image.cc has it for the assembler.
extern "C" const unsigned char cuco_loopback_kernels[];

namespace cuco::loopback {
namespace {

constexpr std::uint64_t kArenaBytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t kStagingBytes = 1U << 16U;
constexpr std::uint64_t kArenaAlignment = 256;

// The device that the calling thread uses, as CUDA has it.
thread_local int chosen_rank = 0;
thread_local bool has_entered = false;

}  // namespace

Machine& Machine::get() {
  static Machine& machine = *new Machine;  // Kernels may still run when statics are destroyed.
  return machine;
}

Machine::Machine() {
  const Driver& d = driver();
  must(d.cuInit(0), "no GPU can be used");
  must(d.cuDeviceGet(&device_, 0), "no GPU can be used");
  must(d.cuDevicePrimaryCtxRetain(&primary_, device_), "the GPU's context");
  must(d.cuCtxSetCurrent(primary_), "the GPU's context");
  const Role role = settings().role;
  if (role != Role::Alone) Pages::reserve_shared();
  divide();
  load_kernels();
  if (role == Role::Rank) return;
  must(d.cuGreenCtxStreamCreate(&control_, network_.green, CU_STREAM_NON_BLOCKING, 0),
       "a stream of the network");
  must(d.cuMemHostAlloc(&staging_, kStagingBytes, CU_MEMHOSTALLOC_PORTABLE), "pinned memory");
  for (int r = 0; role == Role::Alone && r < ranks(); ++r)
    (void)rank(r);
  warm_up(network_, control_);
  if (role == Role::Alone) must(d.cuCtxSetCurrent(rank(0).context), "a rank's context");
}

const Partition& Machine::rank(int r) {
  const auto index = static_cast<std::size_t>(r);
  if (has_made_[index]) return ranks_[index];
  const std::lock_guard lock(making_);
  if (has_made_[index]) return ranks_[index];
  const RelaxedCapture relaxed;
  ranks_[index] = make_partition(&resources_[index]);
  const ScopedContext scope(ranks_[index].context);
  warm_up(ranks_[index], nullptr);
  has_made_[index] = true;
  ++made_;
  return ranks_[index];
}

Partition Machine::make_partition(CUdevResource* resource) {
  const Driver& d = driver();
  Partition partition;
  CUdevResourceDesc description = nullptr;
  must(d.cuDevResourceGenerateDesc(&description, resource, 1), "a part of the GPU");
  must(d.cuGreenCtxCreate(&partition.green, description, device_, CU_GREEN_CTX_DEFAULT_STREAM),
       "a green context");
  must(d.cuCtxFromGreenCtx(&partition.context, partition.green), "a green context");
  partition.sms = static_cast<int>(resource->sm.smCount);
  return partition;
}

// The driver splits equal groups off; what is left is the network's.
void Machine::divide() {
  const Driver& d = driver();
  CUdevResource all{};
  must(d.cuDeviceGetDevResource(device_, &all, CU_DEV_RESOURCE_TYPE_SM), "the GPU's processors");
  const int wanted = settings().ranks;
  const auto plan = plan_sms({static_cast<int>(all.sm.smCount), 2}, wanted);
  if (const auto* problem = std::get_if<std::string>(&plan)) give_up(*problem);
  const auto per_rank = static_cast<unsigned>(std::get<SmPlan>(plan).per_rank);
  std::vector<CUdevResource> groups(static_cast<std::size_t>(wanted));
  auto count = static_cast<unsigned>(wanted);
  CUdevResource rest{};
  // Whole clusters of the GPU would be 8 at a time, too coarse for 8 ranks.
  must(d.cuDevSmResourceSplitByCount(groups.data(), &count, &all, &rest,
                                     CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, per_rank),
       "dividing the GPU's processors");
  if (count < static_cast<unsigned>(wanted) || rest.type != CU_DEV_RESOURCE_TYPE_SM) {
    give_up(std::to_string(wanted) + " ranks do not fit on this GPU: its driver divides it into " +
            std::to_string(count) + " parts of " + std::to_string(per_rank) + " multiprocessors");
  }
  resources_ = std::move(groups);
  ranks_.resize(resources_.size());
  has_made_ = std::vector<std::atomic<bool>>(resources_.size());
  if (settings().role != Role::Rank) network_ = make_partition(&rest);
}

void Machine::load_kernels() {
  const Driver& d = driver();
  CUlibrary library = nullptr;
  must(d.cuLibraryLoadData(&library, cuco_loopback_kernels, nullptr, nullptr, 0, nullptr, nullptr,
                           0),
       "loopback's own kernels");
  const auto find = [&](const std::string& name) {
    CUkernel kernel = nullptr;
    must(d.cuLibraryGetKernel(&kernel, library, ("cuco_loopback_" + name).c_str()), name.c_str());
    return kernel;
  };
  copy_ = find("copy");
  courier_ = find("courier");
  fill_ = find("fill");
  points_ = find("points");
  for (std::size_t type = 0; type < collectives_.size(); ++type)
    collectives_[type] = find("collective_" + std::to_string(type));
  local_ = {find("local_4096"), find("local_16384"), find("local_65536")};
}

// A kernel that is loaded on its first launch waits for kernels that run. Each is launched once in
// each partition with nothing to do.
void Machine::warm_up(const Partition& partition, CUstream stream) {
  const Driver& d = driver();
  must(d.cuCtxSetCurrent(partition.context), "a part of the GPU");
  CopyArgs copy{};
  must(launch(copy_, 1, 32, stream, &copy), "launching a kernel");
  CourierArgs courier{};
  must(launch(courier_, 1, 32, stream, &courier), "launching a kernel");
  FillArgs fill{};
  must(launch(fill_, 1, 32, stream, &fill), "launching a kernel");
  CollectiveArgs collective{};
  for (CUkernel kernel : collectives_)
    must(launch(kernel, 1, 32, stream, &collective), "launching a kernel");
  PointArgs points{};
  must(launch(points_, 1, 32, stream, &points), "launching a kernel");
  must(d.cuStreamSynchronize(stream), "loopback's own kernels");
}

void Machine::grow_local_memory(std::uint64_t bytes) {
  constexpr std::array<std::uint64_t, 3> kSizes = {4096, 16384, 65536};
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    if (bytes > kSizes[i] && i + 1 < kSizes.size()) continue;
    const ScopedContext scope(rank(current_rank()).context);
    std::uint32_t* nowhere = nullptr;
    int none = 0;
    void* args[] = {static_cast<void*>(&nowhere), &none};
    (void)driver().cuLaunchKernel(reinterpret_cast<CUfunction>(local_[i]), 1, 1, 1, 32, 1, 1, 0,
                                  nullptr, args, nullptr);
    (void)driver().cuStreamSynchronize(nullptr);
    return;
  }
}

void Machine::enter(int rank) {
  chosen_rank = rank;
  has_entered = true;
  must(driver().cuCtxSetCurrent(this->rank(rank).context), "a rank's context");
}

int Machine::current_rank() {
  if (!has_entered) enter(chosen_rank);
  return chosen_rank;
}

CUresult Machine::launch(
    CUkernel kernel, unsigned blocks, unsigned threads, CUstream stream, void* args) {
  void* parameters[] = {args};
  return driver().cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), blocks, 1, 1, threads, 1, 1,
                                 0, stream, parameters, nullptr);
}

Address Machine::device_bytes(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const RelaxedCapture relaxed;
  bytes = (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  if (device_arena_.end - device_arena_.next < bytes) {
    const std::uint64_t step = std::uint64_t{2} << 20U;
    const std::uint64_t size = (std::max(bytes, kArenaBytes) + step - 1) / step * step;
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr base = 0;
    Pages& pages = Pages::get();
    must(pages.create(&handle, size, false), "device memory for loopback itself");
    must(pages.reserve(&base, size, step), "device memory for loopback itself");
    must(pages.map(base, size, handle), "device memory for loopback itself");
    device_arena_ = {base, base + size};
  }
  const Address address = device_arena_.next;
  device_arena_.next += bytes;
  const ScopedContext scope(network_.context);
  FillArgs fill{address, bytes, 0};
  must(launch(fill_, 4, 512, control_, &fill), "clearing device memory");
  must(driver().cuStreamSynchronize(control_), "clearing device memory");
  return address;
}

void* Machine::host_bytes(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes = (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  if (host_arena_.end - host_arena_.next < bytes) {
    const std::uint64_t size = std::max(bytes, kArenaBytes / 4);
    const ScopedContext scope(network_.context);
    const void* base = Pages::get().host(size);
    host_arena_ = {reinterpret_cast<std::uint64_t>(base),
                   reinterpret_cast<std::uint64_t>(base) + size};
  }
  void* result = reinterpret_cast<void*>(host_arena_.next);
  host_arena_.next += bytes;
  return result;
}

void Machine::upload(Address destination, const void* source, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const RelaxedCapture relaxed;
  const ScopedContext scope(network_.context);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t piece = std::min<std::size_t>(bytes - done, kStagingBytes);
    std::memcpy(staging_, static_cast<const std::byte*>(source) + done, piece);
    must(driver().cuMemcpyHtoDAsync(destination + done, staging_, piece, control_),
         "writing device memory");
    must(driver().cuStreamSynchronize(control_), "writing device memory");
    done += piece;
  }
}

bool Machine::download(void* destination, Address source, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > kStagingBytes) return false;
  const ScopedContext scope(network_.context);
  if (driver().cuMemcpyDtoHAsync(staging_, source, bytes, control_) != CUDA_SUCCESS) return false;
  for (int tries = 0; tries < 1000; ++tries) {
    if (driver().cuStreamQuery(control_) == CUDA_SUCCESS) {
      std::memcpy(destination, staging_, bytes);
      return true;
    }
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return false;
}

CUstream Machine::network_stream() {
  CUstream stream = nullptr;
  must(driver().cuGreenCtxStreamCreate(&stream, network_.green, CU_STREAM_NON_BLOCKING, 0),
       "a stream of the network");
  return stream;
}

ScopedContext::ScopedContext(CUcontext context) {
  (void)driver().cuCtxGetCurrent(&before_);
  if (before_ != context) (void)driver().cuCtxSetCurrent(context);
}

ScopedContext::~ScopedContext() {
  (void)driver().cuCtxSetCurrent(before_);
}

void allow_calls_while_others_capture() {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  (void)driver().cuThreadExchangeStreamCaptureMode(&mode);
}

}  // namespace cuco::loopback

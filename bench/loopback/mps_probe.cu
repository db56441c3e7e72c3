// SPDX-License-Identifier: Apache-2.0
// What decision 14 needs to know of the Multi-Process Service. Processes start each other; one line
// per answer, as JSON.
//   mps_probe users UID       is a process of user UID served while one of ours is?
//   mps_probe handles         can memory that was imported be exported once more?
//   mps_probe occupy          how long until one kernel has all multiprocessors for itself?
//   mps_probe partitions N    do N processes that divide the GPU alike have multiprocessors of
//   their
//                             own, and the same memory at the same address?
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

namespace {

using Clock = std::chrono::steady_clock;

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::printf("{\"failed\": \"%s\", \"why\": \"%s\", \"uid\": %d}\n", what,
              cudaGetErrorString(code), int(getuid()));
  std::fflush(stdout);
  _exit(1);
}
void check(CUresult code, const char* what) {
  const char* text = "?";
  if (code == CUDA_SUCCESS) return;
  cuGetErrorString(code, &text);
  std::printf("{\"failed\": \"%s\", \"why\": \"%s\", \"uid\": %d}\n", what, text, int(getuid()));
  std::fflush(stdout);
  _exit(1);
}

__global__ void spin(long long nanoseconds, int* out) {
  long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
  if (out) *out = 1;
}

double seconds() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int users(int uid) {
  const pid_t child = fork();
  if (child == 0) {
    usleep(1'500'000);  // the other one has a context by then
    if (setgid(uid) != 0 || setuid(uid) != 0) _exit(9);
    const double begin = seconds();
    check(cudaFree(nullptr), "a context");
    const double made = seconds();
    spin<<<1, 1>>>(100'000'000, nullptr);
    check(cudaDeviceSynchronize(), "a kernel");
    std::printf("{\"uid\": %d, \"context_s\": %.2f, \"kernel_100ms_s\": %.3f}\n", uid, made - begin,
                seconds() - made);
    std::fflush(stdout);
    _exit(0);
  }
  check(cudaFree(nullptr), "our context");
  for (int i = 0; i < 50; ++i) {
    spin<<<1, 1>>>(100'000'000, nullptr);
    check(cudaDeviceSynchronize(), "our kernel");
  }
  const int status = wait_for(child);
  std::printf("{\"probe\": \"users\", \"served_beside_us\": %s}\n", status == 0 ? "true" : "false");
  return status;
}

CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t bytes) {
  CUdeviceptr at = 0;
  check(cuMemAddressReserve(&at, bytes, 0, 0, 0), "an address");
  check(cuMemMap(at, bytes, 0, handle, 0), "mapping");
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(cuMemSetAccess(at, bytes, &access, 1), "access");
  return at;
}

/// Each process imports what it inherits, adds one, exports it again and starts the next one.
int handles(char** argv, int depth, int fd) {
  constexpr size_t kBytes = 2 << 20;
  check(cudaFree(nullptr), "a context");
  CUmemGenericAllocationHandle handle = 0;
  if (depth == 0) {
    CUmemAllocationProp what{};
    what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    what.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    check(cuMemCreate(&handle, kBytes, &what, 0), "memory");
  } else {
    check(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<long>(fd)),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
          depth == 1 ? "importing" : "importing what was imported and exported again");
  }
  const CUdeviceptr at = map(handle, kBytes);
  int value = 0;
  check(cudaMemcpy(&value, reinterpret_cast<void*>(at), 4, cudaMemcpyDeviceToHost), "reading");
  value = depth == 0 ? 100 : value + 1;
  check(cudaMemcpy(reinterpret_cast<void*>(at), &value, 4, cudaMemcpyHostToDevice), "writing");
  if (depth == 3) {
    std::printf("{\"probe\": \"handles\", \"value\": %d, \"ok\": %s}\n", value,
                value == 103 ? "true" : "false");
    return value == 103 ? 0 : 1;
  }
  int out = -1;
  check(cuMemExportToShareableHandle(&out, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        depth == 0 ? "exporting" : "exporting what was imported");
  const pid_t child = fork();
  if (child == 0) {
    const int kept = dup(out);  // without close-on-exec
    execl(argv[0], argv[0], "handles", std::to_string(depth + 1).c_str(),
          std::to_string(kept).c_str(), static_cast<char*>(nullptr));
    _exit(9);
  }
  return wait_for(child);
}

/// One block per multiprocessor, with all of its shared memory: when all have met, nothing else is
/// there.
__global__ void occupy(unsigned* met, unsigned blocks) {
  extern __shared__ char all[];
  if (threadIdx.x != 0) return;
  all[0] = 1;
  __threadfence();
  atomicAdd(met, 1u);
  while (*reinterpret_cast<volatile unsigned*>(met) < blocks) {
  }
}

int occupied(bool beside) {
  pid_t child = 0;
  int pipes[2];
  if (pipe(pipes) != 0) return 1;
  if (beside) {
    child = fork();
    if (child == 0) {
      cudaDeviceProp p;
      check(cudaGetDeviceProperties(&p, 0), "properties");
      check(cudaFree(nullptr), "a context");
      if (write(pipes[1], "x", 1) != 1) _exit(1);
      // 300 us of work on all multiprocessors, and a pause of 700.
      for (int i = 0; i < 3000; ++i) {
        spin<<<p.multiProcessorCount, 256>>>(300'000, nullptr);
        check(cudaDeviceSynchronize(), "work beside");
        usleep(700);
      }
      _exit(0);
    }
    char x;
    if (read(pipes[0], &x, 1) != 1) return 1;
    usleep(300'000);
  }
  cudaDeviceProp p;
  check(cudaGetDeviceProperties(&p, 0), "properties");
  const int shared = static_cast<int>(p.sharedMemPerBlockOptin);
  check(cudaFuncSetAttribute(occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "shared memory");
  unsigned* met;
  check(cudaMalloc(&met, 4), "memory");
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    check(cudaMemset(met, 0, 4), "clearing");
    check(cudaDeviceSynchronize(), "clearing");
    const double begin = seconds();
    occupy<<<p.multiProcessorCount, 32, shared>>>(met, p.multiProcessorCount);
    check(cudaDeviceSynchronize(), "occupying");
    times.push_back((seconds() - begin) * 1e6);
    if (i % 4 == 3) usleep(137);
  }
  if (beside) wait_for(child);
  std::sort(times.begin(), times.end());
  std::printf(
      "{\"probe\": \"occupy\", \"beside_work\": %s, \"sms\": %d, \"least_us\": %.1f, "
      "\"median_us\": "
      "%.1f, \"p90_us\": %.1f, \"most_us\": %.1f}\n",
      beside ? "true" : "false", p.multiProcessorCount, times.front(), times[times.size() / 2],
      times[times.size() * 9 / 10], times.back());
  return 0;
}

// ---- partitions ----

constexpr CUdeviceptr kFlat = 0x2000'0000'0000;
constexpr std::uintptr_t kHost = 0x1f00'0000'0000;
constexpr size_t kReserved = size_t{16} << 40, kShared = 2 << 20;
constexpr unsigned kBlocksSeen = 1024;

/// What lies in the memory that all processes have.
struct Board {
  unsigned arrived[64];
  unsigned met[64];
  unsigned sm[64][kBlocksSeen];
};

/// All blocks tell where they are; the first one waits until a block of every process is there.
__global__ void meet(Board* board, int rank, int ranks, volatile unsigned* host) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (threadIdx.x != 0) return;
  board->sm[rank][blockIdx.x] = sm + 1;
  atomicAdd_system(const_cast<unsigned*>(&host[64 + rank]), 1u);
  long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  if (blockIdx.x == 0) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(&board->arrived[rank]), "r"(1)
                 : "memory");
    unsigned here = 0;
    do {
      here = 0;
      for (int i = 0; i < ranks; ++i) {
        unsigned value;
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(value)
                     : "l"(&board->arrived[i])
                     : "memory");
        here += value;
      }
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (here < unsigned(ranks) && now - begin < 3'000'000'000);
    board->met[rank] = here;
    host[rank] = 1;
    __threadfence_system();
  }
  // It stays until all blocks of all processes are there, and fills its multiprocessors.
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < 6'000'000'000 && host[63] == 0);
}

/// Small ranges are not given where they are wished for; so all is one large one.
void reserve() {
  CUdeviceptr at = 0;
  check(cuMemAddressReserve(&at, kReserved, 0, kFlat, 0), "addresses of our choice");
  if (at == kFlat) return;
  std::printf("{\"failed\": \"addresses of our choice\", \"got\": \"%llx\"}\n", at);
  std::fflush(stdout);
  _exit(1);
}

void map_at(CUdeviceptr at, size_t bytes, CUmemGenericAllocationHandle handle) {
  check(cuMemMap(at, bytes, 0, handle, 0), "mapping");
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(cuMemSetAccess(at, bytes, &access, 1), "access");
}

/// The green context of part `part` of `parts`, or of the rest.
CUstream stream_of(int part, int parts, int* sms) {
  CUdevResource all{}, rest{};
  check(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM), "the multiprocessors");
  const unsigned each = (all.sm.smCount - 8) / parts / 2 * 2;
  std::vector<CUdevResource> groups(parts);
  unsigned count = parts;
  check(cuDevSmResourceSplitByCount(groups.data(), &count, &all, &rest,
                                    CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, each),
        "dividing");
  CUdevResource* mine = part < parts ? &groups[part] : &rest;
  CUdevResourceDesc description;
  CUgreenCtx green;
  CUcontext context;
  CUstream stream;
  check(cuDevResourceGenerateDesc(&description, mine, 1), "a part");
  check(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM), "a green context");
  check(cuCtxFromGreenCtx(&context, green), "a green context");
  check(cuCtxSetCurrent(context), "a green context");
  check(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0), "a stream");
  *sms = static_cast<int>(mine->sm.smCount);
  return stream;
}

double since(double begin) {
  return (seconds() - begin) * 1e6;
}

int partition(int rank, int ranks, int device_fd, int host_fd) {
  check(cuInit(0), "CUDA");
  CUcontext primary;
  check(cuDevicePrimaryCtxRetain(&primary, 0), "a context");
  check(cuCtxSetCurrent(primary), "a context");
  int sms = 0;
  const CUstream stream = stream_of(rank, ranks, &sms);
  CUmemGenericAllocationHandle handle = 0;
  check(
      cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<long>(device_fd)),
                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
      "importing");
  reserve();
  map_at(kFlat, kShared, handle);
  void* host = mmap(reinterpret_cast<void*>(kHost), kShared, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED_NOREPLACE, host_fd, 0);
  if (host != reinterpret_cast<void*>(kHost))
    check(cudaErrorUnknown, "a host address of our choice");
  check(
      cuMemHostRegister(host, kShared, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
      "registering");
  CUdeviceptr seen = 0;
  check(cuMemHostGetDevicePointer(&seen, host, 0), "its address");
  auto* board = reinterpret_cast<Board*>(kFlat);
  __atomic_fetch_add(static_cast<unsigned*>(host) + 128, sms, __ATOMIC_SEQ_CST);
  meet<<<2 * sms, 1024, 0, stream>>>(board, rank, ranks, static_cast<volatile unsigned*>(host));
  check(cudaGetLastError(), "launching");
  while (static_cast<volatile unsigned*>(host)[rank] == 0 &&
         cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
    usleep(100);
  // What loopback does while kernels of all processes run.
  double begin = seconds();
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  what.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle more = 0;
  check(cuMemCreate(&more, 32 << 20, &what, 0), "memory");
  int out = -1;
  check(cuMemExportToShareableHandle(&out, more, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "exporting");
  check(cuMemImportFromShareableHandle(&more, reinterpret_cast<void*>(static_cast<long>(out)),
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "importing");
  map_at(kFlat + (CUdeviceptr{1} << 40), 32 << 20, more);
  const double mapped = since(begin);
  begin = seconds();
  void* pinned = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(cuMemHostRegister(pinned, 1 << 20, CU_MEMHOSTREGISTER_PORTABLE), "registering");
  const double registered = since(begin);
  const bool runs = cuStreamQuery(stream) == CUDA_ERROR_NOT_READY;
  static_cast<volatile unsigned*>(host)[32 + rank] = 1;
  check(cuStreamSynchronize(stream), "the kernel");
  std::printf(
      "{\"rank\": %d, \"sms\": %d, \"same_host_address\": %s, \"mapped_us\": %.0f, "
      "\"registered_us\": %.0f, \"while_it_ran\": %s}\n",
      rank, sms, seen == kHost ? "true" : "false", mapped, registered, runs ? "true" : "false");
  return 0;
}

int partitions(char** argv, int ranks) {
  check(cuInit(0), "CUDA");
  CUcontext primary;
  check(cuDevicePrimaryCtxRetain(&primary, 0), "a context");
  check(cuCtxSetCurrent(primary), "a context");
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  what.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0;
  check(cuMemCreate(&handle, kShared, &what, 0), "memory");
  reserve();
  map_at(kFlat, kShared, handle);
  int device_fd = -1;
  check(
      cuMemExportToShareableHandle(&device_fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
      "exporting");
  const int host_fd = memfd_create("probe", 0);
  if (ftruncate(host_fd, kShared) != 0) return 1;
  void* host = mmap(reinterpret_cast<void*>(kHost), kShared, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED_NOREPLACE, host_fd, 0);
  std::memset(host, 0, kShared);
  check(
      cuMemHostRegister(host, kShared, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
      "registering");
  int sms = 0;
  const CUstream stream = stream_of(ranks, ranks, &sms);
  check(cuMemsetD8Async(kFlat, 0, sizeof(Board), stream), "clearing");
  check(cuStreamSynchronize(stream), "clearing");
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      const int kept = dup(device_fd), kept_host = dup(host_fd);
      execl(argv[0], argv[0], "partition", std::to_string(rank).c_str(),
            std::to_string(ranks).c_str(), std::to_string(kept).c_str(),
            std::to_string(kept_host).c_str(), static_cast<char*>(nullptr));
      _exit(9);
    }
    children.push_back(child);
  }
  // Does the rest of the GPU work while the others' kernels fill theirs?
  auto* words = static_cast<volatile unsigned*>(host);
  const double start = seconds();
  for (int here = 0; here < ranks && seconds() - start < 15;) {
    here = 0;
    for (int r = 0; r < ranks; ++r)
      here += words[r];
  }
  double begin = seconds();
  unsigned arrived[64];
  check(cuMemcpyDtoHAsync(arrived, kFlat, sizeof arrived, stream), "reading");
  check(cuStreamSynchronize(stream), "reading");
  const double read = since(begin);
  begin = seconds();
  spin<<<1, 1, 0, stream>>>(1000, nullptr);
  check(cuStreamSynchronize(stream), "a kernel beside");
  const double ran = since(begin);
  for (int here = 0; here < ranks && seconds() - start < 15;) {
    here = 0;
    for (int r = 0; r < ranks; ++r)
      here += words[32 + r];
  }
  const auto resident = [&] {
    unsigned blocks = 0;
    for (int r = 0; r < ranks; ++r)
      blocks += words[64 + r];
    return blocks;
  };
  begin = seconds();
  const unsigned wanted = 2 * static_cast<unsigned>(words[128]);
  while (resident() < wanted && seconds() - begin < 2) {
  }
  const unsigned together = resident();
  words[63] = 1;
  int failed = 0;
  for (const pid_t child : children)
    failed += wait_for(child) != 0;
  static Board seen;
  check(cuMemcpyDtoHAsync(&seen, kFlat, sizeof seen, stream), "reading");
  check(cuStreamSynchronize(stream), "reading");
  std::set<unsigned> all;
  size_t sum = 0;
  int met = 0;
  for (int r = 0; r < ranks; ++r) {
    std::set<unsigned> own;
    for (const unsigned sm : seen.sm[r])
      if (sm != 0) own.insert(sm);
    all.insert(own.begin(), own.end());
    sum += own.size();
    met += seen.met[r] == unsigned(ranks);
  }
  std::printf(
      "{\"probe\": \"partitions\", \"processes\": %d, \"failed\": %d, \"met\": %d, "
      "\"multiprocessors\": %u, \"numbers_seen\": %zu, \"different\": %zu, \"blocks\": %u, "
      "\"resident_together\": %u, \"read_us\": %.0f, \"ran_beside_us\": %.0f}\n",
      ranks, failed, met, wanted / 2, sum, all.size(), wanted, together, read, ran);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "users") return users(argc > 2 ? std::atoi(argv[2]) : 65534);
  if (what == "handles")
    return handles(argv, argc > 2 ? std::atoi(argv[2]) : 0, argc > 3 ? std::atoi(argv[3]) : -1);
  if (what == "occupy") return occupied(argc > 2);
  if (what == "partitions") return partitions(argv, argc > 2 ? std::atoi(argv[2]) : 4);
  if (what == "partition" && argc == 6)
    return partition(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]),
                     std::atoi(argv[5]));
  return 2;
}

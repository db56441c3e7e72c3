// SPDX-License-Identifier: Apache-2.0
// What decision 14 needs to know of the Multi-Process Service. Processes start each other; one line
// per answer, as JSON.
//   mps_probe users UID       is a process of user UID served while one of ours is?
//   mps_probe handles         can memory that was imported be exported once more?
//   mps_probe occupy          how long until one kernel has all multiprocessors for itself?
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

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
      "{\"probe\": \"occupy\", \"beside_work\": %s, \"sms\": %d, \"least_us\": %.1f, \"median_us\": "
      "%.1f, \"p90_us\": %.1f, \"most_us\": %.1f}\n",
      beside ? "true" : "false", p.multiProcessorCount, times.front(), times[times.size() / 2],
      times[times.size() * 9 / 10], times.back());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "users") return users(argc > 2 ? std::atoi(argv[2]) : 65534);
  if (what == "handles")
    return handles(argv, argc > 2 ? std::atoi(argv[2]) : 0, argc > 3 ? std::atoi(argv[3]) : -1);
  if (what == "occupy") return occupied(argc > 2);
  return 2;
}

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs every conformance case on a real GPU and writes down what it answers.
///
///     record CASES_FOLDER RECORDS_FILE
///
/// A fault poisons a CUDA context, so cases run in child processes: a child works through the list
/// and says after each case what came out; when it dies or faults, the next child goes on behind.
/// The records file: `# key value` lines, then `NAME HASH STATUS BASE64` per case, where STATUS is
/// ok, unstable (two runs differ), fault:CODE, refused:CODE (did not load) or died.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <cuda.h>

#include "conformance/case.h"

using namespace cuco::conformance;

namespace {

constexpr unsigned kSecondsPerCase = 30;

std::string base64(const std::vector<unsigned char>& bytes) {
  static const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned word = bytes[i] << 16;
    if (i + 1 < bytes.size()) word |= bytes[i + 1] << 8;
    if (i + 2 < bytes.size()) word |= bytes[i + 2];
    for (int shift = 18; shift >= 0; shift -= 6)
      text += digits[word >> shift & 63];
  }
  const std::size_t pad = (3 - bytes.size() % 3) % 3;
  if (pad != 0) text.replace(text.size() - pad, pad, pad, '=');
  return text.empty() ? "-" : text;
}

/// One launch in a module of its own, so that module variables start afresh.
std::string launch(const Case& c, std::vector<unsigned char>& output) {
  CUmodule module = nullptr;
  if (const CUresult code = cuModuleLoadData(&module, c.ptx.c_str()); code != CUDA_SUCCESS) {
    return "refused:" + std::to_string(code);
  }
  CUfunction function = nullptr;
  CUdeviceptr in = 0;
  CUdeviceptr out = 0;
  std::vector<std::uint64_t> input = make_input(c);
  input.resize(input.size() + 8);
  CUresult code = cuModuleGetFunction(&function, module, "test");
  const auto then = [&](CUresult next) {
    if (code == CUDA_SUCCESS) code = next;
  };
  if (c.smem > 48 * 1024) {
    then(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                            static_cast<int>(c.smem)));
  }
  then(cuMemAlloc(&in, input.size() * 8));
  then(cuMemAlloc(&out, c.out_bytes + 256));
  then(cuMemcpyHtoD(in, input.data(), input.size() * 8));
  then(cuMemsetD8(out, static_cast<unsigned char>(c.fill), c.out_bytes + 256));
  unsigned n = c.n;
  void* arguments[] = {&in, &out, &n};
  if (code == CUDA_SUCCESS) {
    code = cuLaunchKernel(function, c.grid[0], c.grid[1], c.grid[2], c.block[0], c.block[1],
                          c.block[2], c.smem, nullptr, arguments, nullptr);
    then(cuCtxSynchronize());
  }
  output.resize(c.out_bytes);
  then(cuMemcpyDtoH(output.data(), out, c.out_bytes));
  if (code != CUDA_SUCCESS) return "fault:" + std::to_string(code);
  cuMemFree(in);
  cuMemFree(out);
  cuModuleUnload(module);
  return "ok";
}

/// Records cases [first, end) until one faults.
[[noreturn]] void child(const std::vector<Case>& cases, std::size_t first, std::FILE* report) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS) {
    _exit(9);
  }
  if (first == 0) {
    char name[128] = "";
    int version = 0;
    cuDeviceGetName(name, sizeof(name), device);
    cuDriverGetVersion(&version);
    std::fprintf(report, "# gpu %s\n# driver-api %d\n", name, version);
  }
  for (std::size_t i = first; i < cases.size(); ++i) {
    alarm(kSecondsPerCase);
    const Case& c = cases[i];
    std::vector<unsigned char> once;
    std::vector<unsigned char> twice;
    std::string status = launch(c, once);
    const bool poisoned = status.rfind("fault", 0) == 0;
    if (status == "ok" && (launch(c, twice) != "ok" || once != twice)) status = "unstable";
    if (status != "ok" && status != "unstable") once.clear();
    std::fprintf(report, "%s %016llx %s %s\n", c.name.c_str(),
                 static_cast<unsigned long long>(c.hash), status.c_str(), base64(once).c_str());
    std::fflush(report);
    if (poisoned) _exit(3);
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    if (entry.path().extension() != ".ptx") continue;
    std::ifstream file(entry.path());
    cases.push_back(
        parse_case(entry.path().stem(), std::string(std::istreambuf_iterator<char>(file), {})));
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  std::ofstream records(argv[2]);
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char date[32];
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  records << "# date " << date << "\n";
  std::size_t next = 0;
  int lost = 0;
  while (next < cases.size() && lost < 50) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    const pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      child(cases, next, fdopen(ends[1], "w"));
    }
    close(ends[1]);
    std::FILE* report = fdopen(ends[0], "r");
    char* line = nullptr;
    std::size_t capacity = 0;
    while (getline(&line, &capacity, report) > 0) {
      records << line;
      if (line[0] != '#') ++next;
    }
    free(line);
    fclose(report);
    int status = 0;
    waitpid(pid, &status, 0);
    const bool clean = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3);
    if (!clean && next < cases.size()) {
      std::fprintf(stderr, "%s: the child died (status %d)\n", cases[next].name.c_str(), status);
      char hash[17];
      std::snprintf(hash, sizeof(hash), "%016llx",
                    static_cast<unsigned long long>(cases[next].hash));
      records << cases[next].name << ' ' << hash << " died -\n";
      ++next;
      ++lost;
    }
  }
  std::printf("%zu cases recorded, %d lost\n", next, lost);
  return 0;
}

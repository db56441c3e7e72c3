// SPDX-License-Identifier: Apache-2.0
#include "toolchain/cuda_toolkit.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "base/text.h"
#include "system/jobs/process.h"

namespace cuco::toolchain {
namespace {

using system::Path;

bool is_there(const Path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool has_nvcc(const Path& root) {
  return system::find_program("nvcc", (root / "bin").string()).has_value();
}

/// Of a script that calls the nvcc of a toolkit elsewhere: where that one says it is.
std::optional<Path> toolkit_behind(const Path& script, const system::Environment& environment) {
  system::JobSpec job;
  job.command.argv = {script.string(), "--dryrun", "-x", "cu", "/dev/null"};
  job.command.environment = environment;
  job.limits.wall = std::chrono::seconds(10);
  const auto outcome = system::run_job(job);
  if (!outcome || !outcome->succeeded()) return std::nullopt;
  for (const std::string_view line : split(outcome->err, '\n')) {
    constexpr std::string_view kTop = "#$ TOP=";
    if (!line.starts_with(kTop)) continue;
    std::error_code ignored;
    return std::filesystem::weakly_canonical(line.substr(kTop.size()), ignored);
  }
  return std::nullopt;
}

Path toolkit_of(const Path& nvcc, const system::Environment& environment) {
  std::error_code ignored;
  const Path around = std::filesystem::weakly_canonical(nvcc, ignored).parent_path().parent_path();
  if (is_there(around / "include/cuda.h")) return around;
  return toolkit_behind(nvcc, environment).value_or(around);
}

/// "cuda-13.10" as {13, 10}.
std::vector<int> version_of(const Path& folder) {
  std::vector<int> numbers;
  const std::string name = folder.filename().string();
  for (const std::string_view part : split(std::string_view(name).substr(5), '.')) {
    int number = 0;
    std::from_chars(part.data(), part.data() + part.size(), number);
    numbers.push_back(number);
  }
  return numbers;
}

/// `usual`/cuda-*, the newest first.
std::vector<Path> versioned_folders(const Path& usual) {
  std::vector<Path> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(usual, ignored)) {
    if (entry.path().filename().string().starts_with("cuda-")) found.push_back(entry.path());
  }
  std::ranges::sort(found, std::ranges::greater{}, version_of);
  return found;
}

Result<Path> find_root(const system::Environment& environment, const Path& usual) {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const auto folder = environment.get(name);
    if (!folder || folder->empty()) continue;
    if (has_nvcc(*folder)) return Path(*folder);
    return Error{ErrorKind::Unavailable,
                 fmt::format("{} is {}, but there is no bin/nvcc in that folder", name, *folder)};
  }
  std::vector<Path> folders;
  if (const auto nvcc = system::find_program("nvcc", environment.get("PATH").value_or(""))) {
    folders.push_back(toolkit_of(*nvcc, environment));
  }
  folders.push_back(usual / "cuda");
  std::ranges::copy(versioned_folders(usual), std::back_inserter(folders));
  const auto found = std::ranges::find_if(folders, has_nvcc);
  if (found != folders.end()) return *found;
  return Error{ErrorKind::Unavailable,
               "nvcc not found; cuco needs CUDA 13.0 and the headers of NCCL 2.28.9: put nvcc on "
               "PATH or set CUDA_HOME"};
}

std::optional<Path> find_nccl(const system::Environment& environment, const Path& root) {
  std::vector<Path> folders;
  if (const auto home = environment.get("NCCL_HOME"); home && !home->empty())
    folders.push_back(Path(*home) / "include");
  folders.push_back(root / "include");
  folders.emplace_back("/usr/include");
  const auto found =
      std::ranges::find_if(folders, [](const Path& folder) { return is_there(folder / "nccl.h"); });
  return found == folders.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::optional<Path> CudaToolkit::nvrtc() const {
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so"}) {
    if (is_there(libraries() / name)) return libraries() / name;
  }
  return std::nullopt;
}

std::vector<std::string> CudaToolkit::nccl_flags() const {
  if (!nccl_include || *nccl_include == include() || *nccl_include == "/usr/include") return {};
  return {"-I" + nccl_include->string()};
}

std::vector<Path> CudaToolkit::outside_system() const {
  std::vector<Path> folders{root};
  if (nccl_include) folders.push_back(*nccl_include);
  std::erase_if(folders, [](const Path& folder) { return folder.string().starts_with("/usr/"); });
  return folders;
}

Result<CudaToolkit> find_cuda(const system::Environment& environment, const Path& usual) {
  CudaToolkit toolkit;
  CUCO_TRY_ASSIGN(toolkit.root, find_root(environment, usual));
  toolkit.nccl_include = find_nccl(environment, toolkit.root);
  return toolkit;
}

}  // namespace cuco::toolchain

// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/machine.h"

#include <chrono>
#include <regex>
#include <thread>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/models/model_providers.h"
#include "system/jobs/process.h"
#include "targets/real/real_needs.h"
#include "targets/virtual/server_process.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::cli {
namespace {

/// What a tool prints; nothing if it does not run or does not end in time.
std::optional<std::string> output_of(const std::vector<std::string>& argv,
                                     const system::Environment& environment) {
  system::JobSpec spec{.command = {.argv = argv, .environment = environment}};
  spec.limits.wall = std::chrono::seconds(10);
  const auto outcome = system::run_job(spec);
  if (!outcome || !outcome->succeeded()) return std::nullopt;
  return outcome->out;
}

/// The first match of `pattern`'s first group.
std::optional<std::string> first_match(const std::string& text, const char* pattern) {
  std::smatch match;
  if (!std::regex_search(text, match, std::regex(pattern))) return std::nullopt;
  return match[1].str();
}

std::optional<Tool> find_tool(const char* name,
                              const char* version_option,
                              const char* pattern,
                              const system::Environment& environment) {
  const auto path = system::find_program(name, environment.get("PATH").value_or(""));
  if (!path) return std::nullopt;
  const auto text = output_of({path->string(), version_option}, environment);
  if (!text) return std::nullopt;
  return Tool{*path, first_match(*text, pattern).value_or("(unknown version)")};
}

std::optional<Tool> inspect_nvcc(const toolchain::CudaToolkit& toolkit,
                                 const system::Environment& environment) {
  const auto text = output_of({toolkit.nvcc().string(), "--version"}, environment);
  if (!text) return std::nullopt;
  return Tool{toolkit.nvcc(), first_match(*text, R"(V([0-9.]+))").value_or("(unknown version)")};
}

std::optional<NcclHeaders> inspect_nccl(const system::Path& folder) {
  const auto text = system::read_file(folder / "nccl.h");
  auto headers = text ? parse_nccl_header(*text) : std::nullopt;
  if (!headers) return std::nullopt;
  headers->folder = folder;
  headers->device_api = std::filesystem::exists(folder / "nccl_device.h");
  return headers;
}

ModelFacts inspect_model(const Config& config, const system::Environment& environment) {
  const std::string& proposer = config.text("search.proposer");
  if (proposer.starts_with("command") || proposer.starts_with("mailbox"))
    return {.name = proposer, .problem = ""};
  const ModelOptions options = model_options(config);
  if (options.model.empty() && options.endpoint.empty()) return {};
  ModelFacts facts{.name = options.model.empty() ? "?" : options.model, .problem = ""};
  const auto catalogue = load_catalogue(options, environment);
  if (!catalogue) {
    facts.problem = catalogue.error().message();
    return facts;
  }
  const auto endpoint = find_endpoint(options.model, options, *catalogue, environment);
  if (!endpoint) {
    facts.problem = endpoint.error().message();
  } else {
    facts.name =
        fmt::format("{}:{} at {}", endpoint->service.name, endpoint->model, endpoint->service.url);
  }
  return facts;
}

std::vector<FenceFacts> inspect_fences() {
  std::vector<FenceFacts> facts;
  const auto reports = system::probe_fences();
  if (!reports) return {{.name = "probe", .works = false, .how = reports.error().message()}};
  for (const system::FenceReport& report : *reports) {
    facts.push_back({std::string(system::name_of(report.fence)), report.works, report.how});
  }
  return facts;
}

bool is_mps_running(const system::Environment& environment) {
  const auto folder = environment.get("CUDA_MPS_PIPE_DIRECTORY").value_or("/tmp/nvidia-mps");
  return std::filesystem::exists(system::Path(folder) / "control");
}

/// The libraries that ranks load.
bool has_libraries() {
  const auto folder = targets::find_library_folder();
  return folder && std::filesystem::exists(*folder / "libnccl.so.2");
}

std::uint64_t memory_of_machine() {
  const auto text = system::read_file("/proc/meminfo");
  const auto kibibytes = text ? first_match(*text, R"(MemTotal:\s+(\d+))") : std::nullopt;
  return kibibytes ? std::stoull(*kibibytes) * 1024 : 0;
}

}  // namespace

std::optional<NcclHeaders> parse_nccl_header(std::string_view text) {
  const std::string copy(text);
  const auto major = first_match(copy, R"(#define NCCL_MAJOR (\d{1,6})\b)");
  const auto minor = first_match(copy, R"(#define NCCL_MINOR (\d{1,6})\b)");
  const auto patch = first_match(copy, R"(#define NCCL_PATCH (\d{1,6})\b)");
  if (!major || !minor || !patch) return std::nullopt;
  return NcclHeaders{.folder = {},
                     .major = std::stoi(*major),
                     .minor = std::stoi(*minor),
                     .patch = std::stoi(*patch)};
}

Machine inspect_machine(const Config& config, const system::Environment& environment) {
  Machine machine;
  machine.cores = std::thread::hardware_concurrency();
  machine.memory_bytes = memory_of_machine();
  machine.cpu_features = {{"AVX2", __builtin_cpu_supports("avx2") != 0},
                          {"FMA", __builtin_cpu_supports("fma") != 0},
                          {"F16C", __builtin_cpu_supports("f16c") != 0}};
  if (const auto toolkit = toolchain::find_cuda(environment)) {
    machine.nvcc = inspect_nvcc(*toolkit, environment);
    if (toolkit->nccl_include) machine.nccl = inspect_nccl(*toolkit->nccl_include);
  } else {
    machine.no_cuda = toolkit.error().message();
  }
  machine.mpi = find_tool("mpirun", "--version", R"(mpirun \((.*)\n)", environment);
  // "mpirun (Open MPI) 4.1.4" reads better without the parenthesis.
  if (machine.mpi) {
    std::erase(machine.mpi->version, ')');
  }
  machine.slurm = find_tool("sinfo", "--version", R"(slurm\S* ([0-9.]+))", environment);
  machine.driver = targets::inspect_driver();
  if (machine.driver) machine.driver->mps = is_mps_running(environment);
  machine.fences = inspect_fences();
  machine.model = inspect_model(config, environment);
  machine.has_loopback = targets::find_loopback_folder().has_value();
  machine.has_mps = targets::find_mps_control(environment).has_value();
  machine.has_virtual_cluster = system::find_helper("cuco-vcluster").has_value() && has_libraries();
  return machine;
}

}  // namespace cuco::cli

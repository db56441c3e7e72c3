// SPDX-License-Identifier: Apache-2.0
// cuco-vcluster: the server process of a virtual run. Started by cuco, not by users:
//   cuco-vcluster --listen FD --parent FD --gpu FILE [--topology FILE] [--devices N]
//                 [--divide MATH,MEMORY,LINKS]
//                 [--processes N] [--seed N] [--judge FD] [--check FILE|-]
//                 [--schedule-seed N] [--delivery-delay PS [--completions on-time]] [--report FILE
//                 [--timeline on] [--blocks on]]
//                 [--copy-log FILE [--keep-copies BYTES]] [--patience MS]
//                 [--vary-inputs KEY --vary-types BITS]
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <fmt/format.h>

#include "hardware/scale_model.h"
#include "system/os/files.h"
#include "vcluster/server/server.h"

namespace cuco::vcluster {
namespace {

constexpr int kInternal = 125;

using Options = std::map<std::string, std::string>;

int number(const Options& options, const std::string& name, int fallback) {
  const auto found = options.find(name);
  return found == options.end() ? fallback : std::atoi(found->second.c_str());
}

Result<ClusterOptions> cluster_options(const Options& options) {
  ClusterOptions result;
  const auto gpu = options.find("--gpu");
  if (gpu == options.end()) return Error{ErrorKind::InvalidInput, "--gpu is missing"};
  CUCO_TRY_ASSIGN(result.gpu, hardware::load_gpu_description(gpu->second, {}));
  result.topology = fabric::single_node(number(options, "--devices", 1));
  if (const auto topology = options.find("--topology"); topology != options.end()) {
    CUCO_TRY_ASSIGN(const std::string text, system::read_file(topology->second));
    CUCO_TRY_ASSIGN(result.topology, fabric::parse_topology(text, topology->second));
    if (options.contains("--devices")) {
      CUCO_TRY_ASSIGN(result.topology, fabric::restrict_to(std::move(result.topology),
                                                           number(options, "--devices", 1),
                                                           number(options, "--per-node", 0)));
    }
  }
  if (const auto by = options.find("--divide"); by != options.end()) {
    CUCO_TRY_ASSIGN(const hardware::Divisor divisor, hardware::parse_divisor(by->second));
    result.gpu = hardware::divided(std::move(result.gpu), divisor);
    result.topology = fabric::divided(std::move(result.topology), divisor.links);
  }
  if (const auto seed = options.find("--schedule-seed"); seed != options.end()) {
    result.schedule_seed = std::strtoull(seed->second.c_str(), nullptr, 10);
  }
  if (const auto delay = options.find("--delivery-delay"); delay != options.end()) {
    result.delivery_delay = std::strtoll(delay->second.c_str(), nullptr, 10);
    result.completions_on_time = options.contains("--completions");
  }
  if (const auto report = options.find("--report"); report != options.end()) {
    result.report = report->second;
  }
  if (const auto log = options.find("--copy-log"); log != options.end()) {
    result.copy_log = log->second;
    const auto keep = options.find("--keep-copies");
    if (keep != options.end()) {
      result.keep_copies = std::strtoull(keep->second.c_str(), nullptr, 10);
    }
  }
  if (const auto key = options.find("--vary-inputs"); key != options.end()) {
    result.variation = {.key = std::strtoull(key->second.c_str(), nullptr, 10),
                        .types = static_cast<WrittenAs>(number(options, "--vary-types", 0))};
  }
  result.timeline = options.contains("--timeline");
  result.blocks = options.contains("--blocks");
  result.seed = static_cast<std::uint64_t>(number(options, "--seed", 0));
  result.check = options.contains("--check");
  result.expected_processes = static_cast<std::uint32_t>(number(options, "--processes", 1));
  return result;
}

Result<Ending> serve(const Options& options) {
  CUCO_TRY_ASSIGN(const ClusterOptions wanted, cluster_options(options));
  CUCO_TRY_ASSIGN(auto cluster, Cluster::create(wanted));
  CUCO_TRY_ASSIGN(const auto server,
                  Server::create(std::move(cluster), system::Fd(number(options, "--listen", -1)),
                                 system::Fd(number(options, "--parent", -1))));
  if (options.contains("--judge")) {
    CUCO_TRY(server->seat_judge(wire::Fd(number(options, "--judge", -1))));
  }
  if (options.contains("--patience")) server->set_patience(number(options, "--patience", 0));
  auto ending = server->run();
  CUCO_TRY(server->write_report());
  // A judge asks for what was found: then there is no file.
  const auto file = options.find("--check");
  if (file != options.end() && file->second != "-") {
    CUCO_TRY(server->write_findings(file->second));
  }
  return ending;
}

}  // namespace
}  // namespace cuco::vcluster

int main(int argc, char** argv) {
  using namespace cuco::vcluster;  // NOLINT(google-build-using-namespace): this is its main
  // The run that needs this server ends with its parent; so does the server.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  Options options;
  for (int i = 1; i + 1 < argc; i += 2)
    options[argv[i]] = argv[i + 1];
  try {
    const auto ending = serve(options);
    if (!ending) {
      fmt::print(stderr, "cuco-vcluster: {}\n", ending.error().message());
      return kInternal;
    }
    return *ending == Ending::Finished ? 0 : kInternal;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "cuco-vcluster: {}\n", failure.what());
    return kInternal;
  }
}

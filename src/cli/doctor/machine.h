// SPDX-License-Identifier: Apache-2.0
/// \file
/// What there is on this machine: facts, without judgement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/config/config.h"
#include "system/os/environment.h"
#include "system/os/files.h"
#include "targets/real/driver_facts.h"

namespace cuco::cli {

/// A program that was found and what it says it is.
struct Tool {
  system::Path path;
  std::string version;
};

struct NcclHeaders {
  system::Path folder;
  int major = 0;
  int minor = 0;
  int patch = 0;
  bool device_api = false;
};

struct FenceFacts {
  std::string name;
  bool works = false;
  std::string how;  ///< By what means, or why not.
};

struct ModelFacts {
  std::string name;     ///< "command:PROGRAM" or the model's name; empty: none configured.
  std::string problem;  ///< What it lacks; empty: ready.
};

struct Machine {
  unsigned cores = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<std::pair<std::string, bool>> cpu_features;
  std::optional<Tool> nvcc;
  std::string no_cuda;  ///< Why no toolkit was found; empty: it was.
  std::optional<NcclHeaders> nccl;
  std::optional<Tool> mpi;
  std::optional<Tool> slurm;
  std::optional<targets::DriverFacts> driver;
  std::vector<FenceFacts> fences;
  ModelFacts model;
  bool has_virtual_cluster = false;  ///< The server and the libraries that talk to it are built.
  bool has_loopback = false;         ///< The library that makes N GPUs of one is built.
  bool has_mps = false;              ///< The daemon that lets processes share a GPU can be started.
};

/// Looks at everything; takes a fraction of a second.
[[nodiscard]] Machine inspect_machine(const Config& config, const system::Environment& environment);

/// The version in the text of nccl.h.
[[nodiscard]] std::optional<NcclHeaders> parse_nccl_header(std::string_view text);

}  // namespace cuco::cli

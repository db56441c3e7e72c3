// SPDX-License-Identifier: Apache-2.0
/// \file
/// The processes of a run: who is here, who was lost, and what each has on which device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shims/wire/messages_stream.h"
#include "vcluster/core/cluster_options.h"
#include "vcluster/host/client_process.h"
#include "vgpu/lower/program.h"

namespace cuco::vcluster {

class Processes {
 public:
  Processes(const ClusterOptions& options, WorkGraph& works);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  [[nodiscard]] const std::map<std::uint32_t, std::unique_ptr<Process>>& all() const {
    return processes_;
  }
  /// Null: there is none with that index.
  [[nodiscard]] Process* find(std::uint32_t index) const;
  /// Have as many said hello as the run was started with?
  [[nodiscard]] bool all_here() const { return seen_ >= options_.expected_processes; }

  /// The process with that pid, made if it is new; null if there is no room for more.
  Process* join(std::uint32_t pid, const std::string& program);
  /// One of several rank processes sees the devices of its node only; ranks fill nodes in order.
  void place_on_node(Process& process) const;
  /// The ranks' processes are the candidate's from now on: nobody joins, and nobody gets a device
  /// that it does not use already.
  void seal() { sealed_ = true; }
  [[nodiscard]] bool is_sealed() const { return sealed_; }

  /// Takes a process that has ended out. Works in flight may still point into it: it is kept.
  void end(Process& process);
  /// Those that vanished without a goodbye, one line each.
  [[nodiscard]] const std::vector<std::string>& lost() const { return lost_; }
  void add_lost(std::string line) { lost_.push_back(std::move(line)); }
  /// Forgets everybody: before what their graphs give their memory back to is gone.
  void clear();

  /// The process's context on a device it can see; null otherwise.
  Context* context(Process& process, std::int32_t device);
  /// Drops a context after a reset; the next use makes a fresh one.
  void retire(Process& process, std::int32_t device);
  /// Resolves a stream of the session's process; null: no such stream.
  Stream* stream(Session& session, const wire::StreamRef& ref);

  /// Has the process do something, in the order asked for.
  void ask(Process& process, ServiceJob job);
  /// Hands the next job to the process's service thread, if that is idle.
  static void serve_jobs(Process& process);

 private:
  const ClusterOptions& options_;
  WorkGraph& works_;
  std::map<std::uint32_t, std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Process>> ended_;
  std::vector<std::unique_ptr<Context>> retired_;
  std::vector<std::unique_ptr<vgpu::Program>> retired_programs_;
  std::vector<std::string> lost_;
  std::uint32_t seen_ = 0;
  std::uint64_t next_ticket_ = 1;
  bool sealed_ = false;
};

}  // namespace cuco::vcluster

// SPDX-License-Identifier: Apache-2.0
/// \file
/// The inner processes of a job, from the keeper's fork to the program's first instruction.
#pragma once

#include "system/jail/jail_cgroup.h"
#include "system/jail/jail_report.h"
#include "system/jobs/job.h"
#include "system/os/fd.h"

namespace cuco::system::jail {

/// What the keeper prepared. The ends are the program's.
struct World {
  const JobSpec& spec;
  const JobCgroups& cgroups;
  Reporter reporter;
  int report_fd;
  int input;
  int output;
  int errors;
};

/// Runs in the keeper's child and does not return:
///   outer    joins the cgroups and makes the namespaces,
///   init     (its child, pid 1 of the job) builds the file system, waits, and reports,
///   program  (init's child) gives up its power and becomes the command.
[[noreturn]] void run_world(const World& world);

/// Which namespaces can be had, and whether it takes a user namespace.
struct NamespaceReport {
  int flags = 0;  ///< CLONE_NEW...
  bool user = false;
  std::string why_not;
};

/// Moves this process into as many of PID, mount, network, IPC and UTS namespaces as it can.
[[nodiscard]] NamespaceReport enter_namespaces();

}  // namespace cuco::system::jail

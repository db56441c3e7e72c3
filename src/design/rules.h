// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which directives make sense for a program on a machine, and why the others do not.
#pragma once

#include <string>
#include <vector>

#include "design/directive.h"

namespace cuco::design {

/// What the rules need to know about a program; the analysis fills it.
struct ProgramFacts {
  bool has_collective = false;       ///< Communicates at all.
  bool reduces = false;              ///< The collective combines values (all-reduce, …).
  bool has_producer = false;         ///< A kernel writes the send buffer.
  bool has_consumer = false;         ///< A kernel reads the receive buffer.
  bool sends_to_all = true;          ///< Some data goes to every rank, or is combined from all.
  bool symmetric_buffers = true;     ///< The buffers can be registered as they are.
  int kernels = 0;                   ///< That it launches.
  std::uint64_t bytes_per_rank = 0;  ///< Sent by one rank; 0 when not known.
  std::uint64_t element_bytes = 0;   ///< 0 when not known.
};

/// What the rules need to know about the machine.
struct TopologyFacts {
  int ranks = 0;
  int lsa_ranks = 0;      ///< Ranks that reach each other's memory by load and store.
  bool gin = false;       ///< A NIC that the GPU can drive.
  bool multimem = false;  ///< A switch with multicast.
};

/// Compared as 10000 * major + 100 * minor + patch, like NCCL_VERSION_CODE.
struct NcclVersion {
  int code = 22809;
};

/// Everything that forbids a candidate with that directive here, one sentence each; empty when it
/// is valid. What the seed does is no reason: a candidate may allocate and launch otherwise.
[[nodiscard]] std::vector<std::string> violations(const Directive& directive,
                                                  const ProgramFacts& program,
                                                  const TopologyFacts& topology,
                                                  NcclVersion nccl);

/// What a valid directive costs or needs, one sentence each.
[[nodiscard]] std::vector<std::string> costs(const Directive& directive,
                                             const ProgramFacts& program,
                                             const TopologyFacts& topology);

}  // namespace cuco::design

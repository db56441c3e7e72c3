// SPDX-License-Identifier: Apache-2.0
/// \file
/// Jobs and outcomes on the socket between us and the keeper.
///
///   message := length:u64 (little endian) JSON-text
///   we -> keeper: one JobSpec; later, to cancel, we close our half.
///   keeper -> us: one outcome (without output), then the bytes of stdout, then those of stderr.
///
/// Both ends are ours and from one build, so a malformed message is a bug, reported as Protocol.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "system/jobs/job.h"
#include "system/os/fd.h"

namespace cuco::system {

[[nodiscard]] std::string encode(const JobSpec& spec);
[[nodiscard]] Result<JobSpec> decode_spec(std::string_view text);

[[nodiscard]] Result<void> send_outcome(const Fd& socket, const JobOutcome& outcome);
[[nodiscard]] Result<JobOutcome> receive_outcome(const Fd& socket);

[[nodiscard]] Result<void> send_message(const Fd& socket, std::string_view text);
[[nodiscard]] Result<std::string> receive_message(const Fd& socket);

}  // namespace cuco::system

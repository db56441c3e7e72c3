// SPDX-License-Identifier: Apache-2.0
/// \file
/// SIGINT and SIGTERM as a flag that a long piece of work polls.
#pragma once

namespace cuco::system {

/// From now on the first of these signals only sets the flag, and interrupts blocking calls; the
/// second ends the process at once with `exit_code`. Clears the flag. `answer`, which must live as
/// long, is written to standard error when the first one comes.
void catch_stop_signals(int exit_code, const char* answer = nullptr);

/// They end the process again.
void release_stop_signals();

/// Whether one arrived since they were caught.
[[nodiscard]] bool stop_signalled();

}  // namespace cuco::system

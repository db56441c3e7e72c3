// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ctrl-C: the first asks the command to stop where it can be resumed, the second ends it at once.
#pragma once

namespace cuco::cli {

/// While one is alive, SIGINT and SIGTERM set a flag instead of ending the process. Only commands
/// that poll the flag make one; the others end the usual way.
class InterruptScope {
 public:
  /// `answer`, a text that is always there, is what the first Ctrl-C is answered with at once.
  explicit InterruptScope(const char* answer = nullptr);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  InterruptScope(InterruptScope&&) = delete;
  InterruptScope& operator=(InterruptScope&&) = delete;

  [[nodiscard]] static bool requested();
};

}  // namespace cuco::cli

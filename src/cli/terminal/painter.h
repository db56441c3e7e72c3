// SPDX-License-Identifier: Apache-2.0
/// \file
/// Painter: a view at the bottom of the terminal that is redrawn in place while a command works.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cli/terminal/rows.h"
#include "cli/terminal/terminal.h"

namespace cuco::cli {

/// As long as it lives, it asks for the rows a few times a second and shows them; what the terminal
/// writes meanwhile scrolls by above. The size is looked at each time. The cursor is hidden, and
/// comes back however the process ends. Does nothing where standard error is no terminal, with
/// --quiet and on a dumb one.
class Painter {
 public:
  using Draw = std::function<std::vector<Row>(system::TerminalSize)>;

  /// `draw` is called from a thread of the painter's, which ends before the painter does.
  Painter(Terminal& terminal, Draw draw);
  ~Painter();
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  [[nodiscard]] static bool paints(const Terminal& terminal) {
    return terminal.settings().live && terminal.settings().verbosity != Verbosity::Quiet;
  }

 private:
  void work(const std::stop_token& stop);

  Terminal& terminal_;
  Draw draw_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::optional<std::jthread> thread_;  ///< Last: it ends before what it uses.
};

/// The rows as the terminal gets them: not wider nor more than there is room for, in colour where
/// that is wanted. The last column stays free: some terminals would wrap there.
[[nodiscard]] std::vector<std::string> rendered(const std::vector<Row>& rows,
                                                system::TerminalSize size,
                                                const Terminal& terminal);

}  // namespace cuco::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/painter.h"

#include <algorithm>
#include <chrono>

#include "system/terminal/last_words.h"

namespace cuco::cli {
namespace {

constexpr std::chrono::milliseconds kPause{200};
/// The cursor, and a new line for the shell's prompt.
constexpr const char* kLastWords = "\033[?25h\r\n";

}  // namespace

Painter::Painter(Terminal& terminal, Draw draw) : terminal_(terminal), draw_(std::move(draw)) {
  if (!paints(terminal)) return;
  terminal_.show_cursor(false);
  system::leave_last_words(kLastWords);
  thread_.emplace([this](const std::stop_token& stop) { work(stop); });
}

Painter::~Painter() {
  if (!thread_) return;
  thread_.reset();
  terminal_.clear_progress();
  terminal_.show_cursor(true);
  system::withdraw_last_words();
}

void Painter::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (system::was_continued()) {
      terminal_.forget_painted();
      terminal_.show_cursor(false);
    }
    const system::TerminalSize size = terminal_.size();
    terminal_.paint(rendered(draw_(size), size, terminal_));
    ended_.wait_for(lock, stop, kPause, [] { return false; });
  }
}

std::vector<std::string> rendered(const std::vector<Row>& rows,
                                  system::TerminalSize size,
                                  const Terminal& terminal) {
  std::vector<std::string> lines;
  // One line stays free for what scrolls by.
  const auto most = static_cast<std::size_t>(std::max(size.rows - 1, 1));
  for (const Row& row : rows) {
    if (lines.size() == most) break;
    std::string line;
    const Row clipped = row.clipped_to(std::max(size.columns - 1, 1));
    for (const Span& span : clipped.spans())
      line += terminal.styled(span.style, span.text);
    lines.push_back(terminal.shown(line));
  }
  return lines;
}

}  // namespace cuco::cli

// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a terminal has to be told before this process ends or is stopped by a signal: whoever hides
/// the cursor must not leave it hidden, whatever happens.
#pragma once

namespace cuco::system {

/// From now on `text`, which must live as long, is written to standard error when a signal ends
/// this process (a crash, SIGTERM, SIGHUP, …) or stops it (Ctrl-Z). Signals that somebody catches
/// already are left alone: see say_last_words().
void leave_last_words(const char* text);

/// Signals do what they did before. Needs leave_last_words() before it.
void withdraw_last_words();

/// Writes them now, if there are any. For signal handlers that end the process themselves.
void say_last_words();

/// Whether the process was stopped and goes on since this was asked last.
[[nodiscard]] bool was_continued();

}  // namespace cuco::system

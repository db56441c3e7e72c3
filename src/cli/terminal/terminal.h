// SPDX-License-Identifier: Apache-2.0
/// \file
/// Everything cuco shows to a person: colour where there is a terminal, plain text where there is
/// none, nothing but JSON on standard output where that was asked for.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "system/terminal/tty.h"

namespace cuco::cli {

enum class Style { Plain, Bold, Dim, Good, Bad, Warning, Accent };

/// How much is said.
enum class Verbosity { Quiet, Normal, Verbose };

/// Where output goes and how it may look. Standard output carries results, standard error
/// carries progress, notes and errors. What writes may be called from several threads.
class Terminal {
 public:
  struct Settings {
    bool colour = false;
    bool shown = false;  ///< Standard output is a terminal.
    bool live = false;   ///< Standard error is a terminal: lines may be rewritten in place.
    int width = 80;
    Verbosity verbosity = Verbosity::Normal;
  };

  Terminal(std::FILE* out, std::FILE* error, Settings settings)
      : out_(out), error_(error), settings_(settings) {}

  /// Looks at the streams: colour and live lines only on a terminal; NO_COLOR is obeyed.
  static Settings detect(std::FILE* out, std::FILE* error);

  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    write(fmt::format(format, std::forward<Args>(args)...));
  }
  /// A remark on standard error, not shown with --quiet.
  template <typename... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    if (settings_.verbosity != Verbosity::Quiet) {
      remark(fmt::format(format, std::forward<Args>(args)...));
    }
  }
  /// A remark shown only with --verbose.
  template <typename... Args>
  void detail(fmt::format_string<Args...> format, Args&&... args) {
    if (settings_.verbosity == Verbosity::Verbose) {
      remark(fmt::format(format, std::forward<Args>(args)...));
    }
  }
  /// "cuco: message" on standard error, always shown.
  void error(std::string_view message);

  /// What cuco says, on standard output. Whatever is in it, and whoever wrote that, the terminal
  /// shows it: of all control characters only the colours of styled() have an effect.
  void write(std::string_view text);
  /// What a program printed, byte by byte.
  void pass_on(std::string_view bytes);
  /// A file: byte by byte, but for people.
  void write_file(std::string_view bytes) { settings_.shown ? write(bytes) : pass_on(bytes); }

  /// Replaces the live line at the bottom of a terminal; does nothing where there is none.
  void progress(std::string_view text);
  void clear_progress();
  /// The same with several rows, not above their own width: what is written meanwhile scrolls by
  /// above them. See Painter.
  void paint(const std::vector<std::string>& rows);
  /// The rows are not where they were: the process was stopped, others have written.
  void forget_painted();
  void show_cursor(bool shown);
  /// Of the terminal behind standard error, now.
  [[nodiscard]] system::TerminalSize size() const;

  /// For standard output: on a terminal with hanging(), elsewhere as it is.
  [[nodiscard]] std::string fitted(std::string text) const;
  [[nodiscard]] std::string styled(Style style, std::string_view text) const;
  [[nodiscard]] std::string tick() const { return styled(Style::Good, "✓"); }
  [[nodiscard]] std::string cross() const { return styled(Style::Bad, "✗"); }
  [[nodiscard]] std::string dash() const { return styled(Style::Dim, "–"); }
  /// "[███████       ]" of `cells` columns.
  [[nodiscard]] std::string bar(double fraction, int cells) const;

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] int width() const { return settings_.width; }
  void set_verbosity(Verbosity verbosity) { settings_.verbosity = verbosity; }
  void set_colour(bool colour) { settings_.colour = colour; }

  /// Text that is shown as it is, whoever wrote it, with our own colours.
  [[nodiscard]] std::string shown(std::string_view text) const;

 private:
  void remark(std::string_view line);
  /// What brings the cursor back to where the painted rows begin.
  [[nodiscard]] std::string to_first_row() const;
  /// The rows, and nothing below them. Rows are drawn over, not cleared first: there is no flicker,
  /// and no terminal keeps each frame in its history.
  [[nodiscard]] std::string painting() const;
  void to_error(std::string_view bytes);

  std::FILE* out_;
  std::FILE* error_;
  Settings settings_;
  /// Rows at the bottom, the cursor behind the last one. They are drawn from a thread of their own.
  std::vector<std::string> painted_;
  bool stays_ = false;    ///< They are drawn again behind what is written.
  bool in_line_ = false;  ///< Something was written that has no line end yet.
  mutable std::mutex mutex_;
};

/// Columns a text takes on a terminal: code points, without colour sequences.
[[nodiscard]] int display_width(std::string_view text);

/// Pads to `width` columns on the right.
[[nodiscard]] std::string padded(std::string_view text, int width);

/// Cuts to `width` columns, ending in "…" where something was lost. Keeps colour sequences whole.
[[nodiscard]] std::string clipped(std::string_view text, int width);

/// Words on as many lines of `width` columns as they need; the first line starts at column `indent`
/// (begun by the caller), the others are indented to it. Ends with a line end.
[[nodiscard]] std::string wrapped(const std::vector<std::string>& words,
                                  int indent,
                                  int width,
                                  std::string_view gap = " ");

/// The text with lines of at most `width` columns: what is longer goes on below its last column
/// that begins in the left half (columns stand two or more spaces apart), or else a little
/// indented.
[[nodiscard]] std::string hanging(std::string_view text, int width);

/// Rows of cells, each column as wide as its widest cell. The last column is not padded.
class Table {
 public:
  enum class Align { Left, Right };
  explicit Table(std::vector<Align> columns = {}) : columns_(std::move(columns)) {}

  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::string text(int indent = 0, int gap = 2) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cuco::cli

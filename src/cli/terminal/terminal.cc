// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/terminal.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "system/terminal/tty.h"

namespace cuco::cli {
namespace {

constexpr std::string_view kReset = "\033[0m";
constexpr std::string_view kClearRest = "\033[K";  // of the line
constexpr std::string_view kClearBelow = "\033[J";
constexpr std::string_view kHideCursor = "\033[?25l";
constexpr std::string_view kShowCursor = "\033[?25h";
// A terminal that knows this shows what is between them at once; the others ignore it.
constexpr std::string_view kBeginFrame = "\033[?2026h";
constexpr std::string_view kEndFrame = "\033[?2026l";

std::string_view sequence_of(Style style) {
  switch (style) {
    case Style::Plain:
      return "";
    case Style::Bold:
      return "\033[1m";
    case Style::Dim:
      return "\033[2m";
    case Style::Good:
      return "\033[32m";
    case Style::Bad:
      return "\033[31m";
    case Style::Warning:
      return "\033[33m";
    case Style::Accent:
      return "\033[36m";
  }
  return "";
}

/// The colour sequence at the front, if it is one of ours.
std::string_view own_sequence(std::string_view text) {
  for (const Style style :
       {Style::Bold, Style::Dim, Style::Good, Style::Bad, Style::Warning, Style::Accent}) {
    if (text.starts_with(sequence_of(style))) return sequence_of(style);
  }
  return text.starts_with(kReset) ? kReset : std::string_view();
}

/// Length in bytes of the unit at the front: a colour sequence (no columns) or a code point (one).
struct Unit {
  std::size_t bytes;
  int columns;
};

/// Every code point counts as one column: we print no wide characters.
Unit front_unit(std::string_view text) {
  if (text.front() == '\033') {
    const std::size_t end = text.find('m');
    return {end == std::string_view::npos ? text.size() : end + 1, 0};
  }
  std::size_t bytes = 1;
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
    ++bytes;
  return {bytes, 1};
}

/// A word that nobody reads to its end (a name of 5,000 letters) keeps its ends: the sentence
/// around it is to be seen.
std::string with_words_shortened(std::string_view text) {
  constexpr std::size_t kLongest = 300, kBegin = 60, kEnd = 20;
  constexpr std::string_view kBlanks = " \t\n";
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  std::string result;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find_first_of(kBlanks), text.size());
    if (length <= kLongest) {
      result += text.substr(0, length);
    } else {
      std::size_t first = kBegin, last = length - kEnd;
      while (first > 0 && continues(first))
        --first;
      while (last < length && continues(last))
        ++last;
      result += text.substr(0, first);
      result += "…";
      result += text.substr(last, length - last);
    }
    text.remove_prefix(length);
    const std::size_t blanks = std::min(text.find_first_not_of(kBlanks), text.size());
    result += text.substr(0, blanks);
    text.remove_prefix(blanks);
  }
  return result;
}

}  // namespace

Terminal::Settings Terminal::detect(std::FILE* out, std::FILE* error) {
  Settings settings;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  // https://no-color.org: set and not empty means no colour.
  settings.colour =
      system::is_terminal(out) && !dumb && (no_color == nullptr || no_color[0] == '\0');
  settings.shown = system::is_terminal(out);
  settings.live = system::is_terminal(error) && !dumb;
  settings.width = system::terminal_size(out).value_or(system::TerminalSize{}).columns;
  return settings;
}

std::string Terminal::shown(std::string_view text) const {
  if (!settings_.colour) return printable(text);
  std::string result;
  while (!text.empty()) {
    const std::size_t escape = std::min(text.find('\033'), text.size());
    result += printable(text.substr(0, escape));
    text.remove_prefix(escape);
    if (text.empty()) break;
    const std::string_view ours = own_sequence(text);
    result += ours.empty() ? printable(text.substr(0, 1)) : ours;
    text.remove_prefix(std::max<std::size_t>(ours.size(), 1));
  }
  return result;
}

void Terminal::write(std::string_view text) {
  pass_on(shown(text));
}

void Terminal::pass_on(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::lock_guard lock(mutex_);
  if (!painted_.empty()) to_error(to_first_row() + std::string(kClearBelow));
  std::fwrite(bytes.data(), 1, bytes.size(), out_);
  std::fflush(out_);  // whoever reads events from a pipe wants them as they happen
  in_line_ = settings_.shown && bytes.back() != '\n';
  if (!stays_) painted_.clear();
  to_error(painting());
}

void Terminal::remark(std::string_view line) {
  const std::lock_guard lock(mutex_);
  std::fflush(out_);
  const std::string words =
      shown(settings_.live ? hanging(line, size().columns) : std::string(line)) + "\n";
  if (painted_.empty()) return to_error(words);
  // Over what was painted: clearing it first would flicker.
  std::string text = to_first_row();
  for (const char sign : words) {
    if (sign == '\n') text += kClearRest;
    text += sign;
  }
  if (!stays_) painted_.clear();
  to_error(text + (stays_ ? painting() : std::string(kClearBelow)));
}

void Terminal::error(std::string_view message) {
  remark(fmt::format("{} {}", styled(Style::Bad, "cuco:"), with_words_shortened(message)));
}

/// One line that is overwritten in place: clipped, because a wrapped line cannot be erased.
void Terminal::progress(std::string_view text) {
  if (!settings_.live || settings_.verbosity == Verbosity::Quiet) return;
  const std::lock_guard lock(mutex_);
  if (stays_) return;  // somebody paints more than this
  std::fflush(out_);
  const std::string begin = to_first_row();
  painted_ = {clipped(shown(text), settings_.width - 1)};
  to_error(begin + painting());
}

void Terminal::clear_progress() {
  const std::lock_guard lock(mutex_);
  if (!painted_.empty()) to_error(to_first_row() + std::string(kClearBelow));
  painted_.clear();
  stays_ = false;
}

void Terminal::paint(const std::vector<std::string>& rows) {
  if (!settings_.live || settings_.verbosity == Verbosity::Quiet) return;
  const std::lock_guard lock(mutex_);
  if (stays_ && rows == painted_) return;
  std::fflush(out_);
  const std::string begin = to_first_row();
  painted_ = rows;
  stays_ = true;
  to_error(fmt::format("{}{}{}{}", kBeginFrame, begin, painting(), kEndFrame));
}

void Terminal::forget_painted() {
  const std::lock_guard lock(mutex_);
  painted_.clear();
}

void Terminal::show_cursor(bool shown) {
  if (!settings_.live) return;
  const std::lock_guard lock(mutex_);
  to_error(shown ? kShowCursor : kHideCursor);
}

system::TerminalSize Terminal::size() const {
  return system::terminal_size(error_).value_or(system::TerminalSize{});
}

std::string Terminal::to_first_row() const {
  if (painted_.empty()) return {};
  // Where the terminal has become narrower, rows may take several lines now.
  const int columns = std::max(size().columns, 1);
  int lines = 0;
  for (const std::string& row : painted_)
    lines += std::max(1, (display_width(row) + columns - 1) / columns);
  return lines == 1 ? "\r" : fmt::format("\r\033[{}A", lines - 1);
}

std::string Terminal::painting() const {
  if (painted_.empty()) return {};
  std::string text = in_line_ ? "\r\n" : "";
  for (std::size_t i = 0; i < painted_.size(); ++i)
    text += fmt::format("{}{}{}", i > 0 ? "\r\n" : "", painted_[i], kClearRest);
  return text + std::string(kClearBelow);
}

void Terminal::to_error(std::string_view bytes) {
  if (bytes.empty()) return;
  std::fwrite(bytes.data(), 1, bytes.size(), error_);
  std::fflush(error_);
}

std::string Terminal::fitted(std::string text) const {
  return settings_.shown ? hanging(text, settings_.width) : text;
}

std::string Terminal::styled(Style style, std::string_view text) const {
  if (!settings_.colour || style == Style::Plain) return std::string(text);
  return fmt::format("{}{}{}", sequence_of(style), text, kReset);
}

std::string Terminal::bar(double fraction, int cells) const {
  const int full = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * cells));
  std::string text = "[";
  for (int i = 0; i < cells; ++i)
    text += i < full ? "█" : " ";
  return text + "]";
}

int display_width(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Unit unit = front_unit(text);
    columns += unit.columns;
    text.remove_prefix(unit.bytes);
  }
  return columns;
}

std::string padded(std::string_view text, int width) {
  const int missing = std::max(0, width - display_width(text));
  return std::string(text) + std::string(static_cast<std::size_t>(missing), ' ');
}

std::string clipped(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  std::string kept;
  bool coloured = false;
  for (int columns = 0; !text.empty();) {
    const Unit unit = front_unit(text);
    if (columns + unit.columns > width - 1) break;
    coloured = coloured || unit.columns == 0;
    kept += text.substr(0, unit.bytes);
    columns += unit.columns;
    text.remove_prefix(unit.bytes);
  }
  return kept + "…" + (coloured ? std::string(kReset) : "");
}

std::string wrapped(const std::vector<std::string>& words,
                    int indent,
                    int width,
                    std::string_view gap) {
  std::string text;
  int column = indent;
  for (const std::string& word : words) {
    const int needed = display_width(word);
    if (column > indent) {
      if (column + display_width(gap) + needed > width) {
        text += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
        column = indent;
      } else {
        text += gap;
        column += display_width(gap);
      }
    }
    text += word;
    column += needed;
  }
  return text + "\n";
}

namespace {

/// A word of a line, and where it stands.
struct Placed {
  std::string_view word;
  int column = 0;
  int spaces = 0;  ///< Before it.
};

std::vector<Placed> placed_words(std::string_view line) {
  std::vector<Placed> words;
  int column = 0;
  int spaces = 0;
  for (const std::string_view word : split(line, ' ')) {
    if (!word.empty()) {
      words.push_back({word, column, spaces});
      spaces = 0;
    }
    column += display_width(word) + 1;
    ++spaces;
  }
  return words;
}

std::string hanging_line(std::string_view line, int width) {
  const std::vector<Placed> words = placed_words(line);
  if (words.empty() || display_width(line) <= width) return std::string(line);
  constexpr int kLittle = 2;
  constexpr int kApart = 3;
  int indent = std::min(words.front().column + kLittle, width / 2);
  for (const Placed& one : words) {
    if (one.spaces >= 2 && one.column > 0 && one.column <= width / 2) indent = one.column;
  }
  std::string text;
  int column = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Placed& one = words[i];
    int gap = one.spaces;
    const int needed = display_width(one.word);
    // What stands apart ("continue  cuco resume 3") stays together where it can.
    std::size_t last = i;
    while (gap >= kApart && last + 1 < words.size() && words[last + 1].spaces < kApart)
      ++last;
    const int together = words[last].column + display_width(words[last].word) - one.column;
    const bool fits = column + gap + needed <= width &&
                      (column + gap + together <= width || together > width - indent);
    if (!text.empty() && !fits) {
      text += '\n';
      column = 0;
      gap = indent;
    }
    text.append(static_cast<std::size_t>(gap), ' ').append(one.word);
    column += gap + needed;
  }
  return text;
}

}  // namespace

std::string hanging(std::string_view text, int width) {
  std::string result;
  bool first = true;
  for (const std::string_view line : split(text, '\n')) {
    if (!std::exchange(first, false)) result += '\n';
    result += hanging_line(line, width);
  }
  return result;
}

std::string Table::text(int indent, int gap) const {
  std::vector<int> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::string result;
  for (const auto& row : rows_) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool right = i < columns_.size() && columns_[i] == Align::Right;
      const int missing = widths[i] - display_width(row[i]);
      if (right) line.append(static_cast<std::size_t>(missing), ' ');
      line += row[i];
      if (i + 1 < row.size()) {
        line.append(static_cast<std::size_t>((right ? 0 : missing) + gap), ' ');
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

}  // namespace cuco::cli

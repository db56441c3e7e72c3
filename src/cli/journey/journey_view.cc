// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/journey_view.h"

#include "base/text.h"
#include "report/known_error.h"

namespace cuco::cli {
namespace {

constexpr int kLabelWidth = 16;

/// Something that the live view tells of a candidate.
bool is_verdict(const candidate::EventBody& body) {
  return std::holds_alternative<candidate::Proposed>(body) ||
         std::holds_alternative<candidate::Evaluated>(body) ||
         std::holds_alternative<candidate::Compared>(body);
}

/// Words of a line below each other's beginning, where a person reads them on a terminal; elsewhere
/// a line stays one line.
std::string laid_out(const Terminal& terminal, bool is_terminal, const std::string& text) {
  if (!is_terminal || display_width(text) <= terminal.width() - kLabelWidth) return text;
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ' '))
    words.emplace_back(word);
  std::string lines = wrapped(words, kLabelWidth, terminal.width());
  lines.pop_back();
  return lines;
}

}  // namespace

void show_line(Context& context, const report::Line& line) {
  if (context.json) return;
  // A workload's name may be longer than the column.
  const char* gap = line.label.size() < static_cast<std::size_t>(kLabelWidth) ? "" : "  ";
  context.terminal.note("{}{}{}",
                        padded(context.terminal.styled(Style::Dim, line.label), kLabelWidth), gap,
                        laid_out(context.terminal, context.terminal.settings().live, line.text));
}

void show_event(Context& context,
                const candidate::Event& event,
                const candidate::RunState& state,
                bool is_live) {
  if (context.json) {
    context.terminal.write(report::event_json(event) + "\n");
    return;
  }
  const bool everything = context.terminal.settings().verbosity == Verbosity::Verbose;
  if (is_live && !everything && is_verdict(event.body)) return;
  for (const auto& line : report::describe(event, state))
    show_line(context, line);
}

ExitCode show_closing(Context& context,
                      const candidate::RunState& state,
                      const store::RunFolder& folder) {
  context.terminal.clear_progress();
  const auto best = folder.best().string();
  if (context.json) {
    context.terminal.write(report::result_json(state, folder.name, best) + "\n");
  } else {
    for (const auto& line : report::closing(state, folder.name, best)) {
      context.terminal.print(
          "{}{}\n", padded(context.terminal.styled(Style::Bold, line.label), kLabelWidth),
          laid_out(context.terminal, context.terminal.settings().shown, line.text));
    }
    if (const std::string error = report::known_error(state);
        !error.empty() && report::winner(state) != nullptr) {
      context.terminal.print(
          "{}{}\n", padded(context.terminal.styled(Style::Bold, "error"), kLabelWidth), error);
    }
  }
  return report::winner(state) == nullptr ? ExitCode::JobFailed : ExitCode::Done;
}

}  // namespace cuco::cli

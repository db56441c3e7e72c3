// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/journey_view.h"

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

}  // namespace

void show_line(Context& context, const report::Line& line) {
  if (context.json) return;
  // A workload's name may be longer than the column.
  const char* gap = line.label.size() < static_cast<std::size_t>(kLabelWidth) ? "" : "  ";
  const Terminal& terminal = context.terminal;
  const std::string text =
      padded(terminal.styled(Style::Dim, line.label), kLabelWidth) + gap + line.text;
  context.terminal.note("{}", terminal.settings().live ? hanging(text, terminal.width()) : text);
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
    auto lines = report::closing(state, folder.name, best);
    if (const std::string error = report::known_error(state);
        !error.empty() && report::winner(state) != nullptr)
      lines.push_back({"error", error});
    for (const auto& line : lines) {
      const std::string label = context.terminal.styled(Style::Bold, line.label);
      context.terminal.write(
          context.terminal.fitted(padded(label, kLabelWidth) + line.text + "\n"));
    }
  }
  return report::winner(state) == nullptr ? ExitCode::JobFailed : ExitCode::Done;
}

}  // namespace cuco::cli

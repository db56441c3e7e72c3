// SPDX-License-Identifier: Apache-2.0
#include "cli/live/live_judgement.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/live/row_pictures.h"

namespace cuco::cli {

std::vector<Row> judgement_rows(const JudgementView& view, system::TerminalSize size) {
  const int columns = std::max(size.columns - 1, 1);
  const RunningJob& job = view.job;
  Row row;
  row.add(Style::Dim, "judging ").add(Style::Bold, one_line(view.candidate));
  if (columns >= 60)
    row.add(Style::Dim, fmt::format(" · {} · {}", one_line(view.workload), view.fidelity));
  row.add("  ");
  if (job.all == 0) {
    row.add("building  ");
  } else {
    const double share = static_cast<double>(job.done) / static_cast<double>(job.all);
    row.add(bar(share, columns >= 60 ? 16 : 8));
    row.add(fmt::format(" {}/{}  ", job.done, job.all));
  }
  row.add(Style::Dim, duration_text(job.elapsed));
  if (job.left) row.add(Style::Dim, ", about " + duration_text(*job.left) + " left");
  return {row.clipped_to(columns)};
}

LiveJudgement::LiveJudgement(Terminal& terminal,
                             InFlight& table,
                             const std::string& program,
                             const JudgementView& about)
    : stay_(table, {.work = Work::Judging}, program),
      painter_(terminal, [&table, about](system::TerminalSize size) {
        JudgementView view = about;
        if (const auto jobs = table.jobs(); !jobs.empty()) view.job = jobs.front();
        return judgement_rows(view, size);
      }) {}

}  // namespace cuco::cli

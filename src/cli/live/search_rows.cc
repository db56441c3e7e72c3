// SPDX-License-Identifier: Apache-2.0
#include "cli/live/search_rows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/text.h"
#include "cli/live/row_pictures.h"

namespace cuco::cli {
namespace {

constexpr int kMostRows = 16;
constexpr int kFewestRows = 6;  ///< Of a terminal: below that there is one row.
constexpr int kNarrow = 60;     ///< Columns.

/// Lays the parts out for one width.
class Layout {
 public:
  Layout(const SearchView& view, int columns)
      : view_(view), columns_(columns), label_(columns < kNarrow ? 9 : 10) {}

  /// "── name · machine ────────────── run 0003 · 4 m 10 s ──".
  [[nodiscard]] Row title() const {
    const std::string right = fmt::format(" {} ──", right_of_title());
    Row row;
    row.add(Style::Dim, "── ").add(Style::Bold, one_line(view_.name));
    const int room = columns_ - display_width(right) - 2;
    const std::string machine = " · " + one_line(view_.machine);
    if (!view_.machine.empty() && row.width() + display_width(machine) <= room)
      row.add(Style::Dim, machine);
    row.add(" ");
    std::string rule;
    for (int i = row.width(); i < columns_ - display_width(right); ++i)
      rule += "─";
    return row.add(Style::Dim, rule + right);
  }

  [[nodiscard]] std::vector<Row> best() const {
    const SeenCandidate* best = view_.best ? view_.candidate(*view_.best) : nullptr;
    const auto seed = view_.seed_time();
    Row row = labelled("best");
    if (best == nullptr || !best->time) {
      row.add(Style::Dim, !seed ? "the seed is being judged"
                                : fmt::format("the seed: {}; nothing faster yet", time_of(*seed)));
      return {row};
    }
    row.add(Style::Bold, human_seconds(best->time->seconds))
        .add(best->time->predicted ? " predicted  " : "  ")
        .add(Style::Good, fmt::format("{:.2f}x", best->time->speedup()))
        .add(fmt::format("   #{}  ", *view_.best))
        .add(one_line(best->design));
    std::vector<Row> rows{row};
    if (auto line = number_line(*best->time)) rows.push_back(*std::move(line));
    return rows;
  }

  [[nodiscard]] std::vector<Row> search() const {
    std::vector<double> speedups;
    for (std::size_t i = 1; i < view_.seen.size(); ++i) {
      const SeenCandidate& one = view_.seen[i];
      if (one.judged) speedups.push_back(one.time ? one.time->speedup() : 0);
    }
    if (speedups.empty()) return {};
    Row row = labelled("search");
    const int refused = view_.judged() - view_.correct();
    std::string counts = fmt::format("{} correct, {} refused", view_.correct(), refused);
    if (!view_.phase.empty() && columns_ >= kNarrow) counts = view_.phase + " · " + counts;
    const int room = columns_ - label_ - display_width(counts) - 3;
    row.add(sparkline(speedups, std::clamp(room, 8, 48)));
    return {row.add("   ").add(Style::Dim, counts)};
  }

  [[nodiscard]] std::vector<Row> islands() const {
    auto islands = view_.islands();
    std::vector<Row> rows;
    if (islands.size() < 2) return rows;  // one says nothing that "best" does not
    std::ranges::stable_sort(islands, std::greater(), [](const IslandBest& island) {
      return std::pair(island.full, island.speedup);
    });
    int wide = 3;
    for (const IslandBest& island : islands)
      wide = std::max(wide, display_width(one_line(island.name)));
    wide = std::min(wide, columns_ < kNarrow ? 8 : 16) + 2;
    for (const IslandBest& island : islands) {
      Row row = labelled(rows.empty() ? "islands" : "");
      row.add(clipped(one_line(island.name), wide - 2)).to_column(label_ + wide);
      const SeenCandidate* best = view_.candidate(island.number);
      if (island.speedup <= 0 || best == nullptr) {
        row.add(Style::Dim, fmt::format("nothing correct in {}", island.judged));
      } else {
        row.add(fmt::format("{:.2f}x", island.speedup))
            .to_column(label_ + wide + 7)
            .add(Style::Dim, fmt::format("#{}", island.number))
            .to_column(label_ + wide + 12)
            .add(Style::Dim, one_line(best->design));
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

  [[nodiscard]] std::vector<Row> running() const {
    std::vector<Row> rows;
    const auto next = [&] { return labelled(rows.empty() ? "running" : ""); };
    for (const RunningJob& job : view_.running) {
      Row row = next();
      row.add(job_row(job, columns_ < kNarrow));
      rows.push_back(std::move(row));
    }
    if (!view_.step.empty())
      rows.push_back(
          next().add(view_.step).add(Style::Dim, "  " + duration_text(view_.step_elapsed)));
    for (const auto& [hash, open] : view_.questions) {
      const double seconds = static_cast<double>(view_.now_ms - open.since_ms) / 1000.0;
      rows.push_back(next()
                         .add(fmt::format("?{}", open.decision))
                         .to_column(label_ + 5)
                         .add("waiting for an answer")
                         .add(Style::Dim, "  " + duration_text(seconds)));
    }
    return rows;
  }

  [[nodiscard]] std::vector<Row> news() const {
    std::vector<Row> rows;
    for (auto item = view_.news.rbegin(); item != view_.news.rend(); ++item) {
      rows.push_back(labelled(rows.empty() ? "last" : "")
                         .add(fmt::format("#{}", item->number))
                         .to_column(label_ + 5)
                         .add(item->good ? Style::Good : Style::Bad, item->good ? "✓ " : "✗ ")
                         .add(one_line(item->text)));
    }
    return rows;
  }

  [[nodiscard]] Row budget() const {
    Row row = labelled("budget");
    const int wide = columns_ < kNarrow ? 8 : 20;
    std::vector<std::string> words;
    double share = 0;
    if (view_.rounds > 0) {
      share = static_cast<double>(view_.rounds_done) / view_.rounds;
      words.push_back(fmt::format("round {} of {}", std::min(view_.rounds_done + 1, view_.rounds),
                                  view_.rounds));
    }
    if (view_.candidates > 0) {
      // As the budget counts: with the seed.
      const int used = judged_with_seed();
      share = std::max(share, static_cast<double>(used) / view_.candidates);
      words.push_back(fmt::format("{}/{} candidates", used, view_.candidates));
    }
    if (view_.seconds > 0) {
      share = std::max(share, view_.elapsed / view_.seconds);
      words.push_back(
          fmt::format("{} of {}", duration_text(view_.elapsed), duration_text(view_.seconds)));
    }
    if (const std::string left = time_left(); !left.empty()) words.push_back(left);
    if (view_.calls > 0) {
      words.push_back(counted(view_.calls, "question"));
      words.push_back(fmt::format("{:.1f}k tokens", static_cast<double>(view_.tokens) / 1000));
      if (view_.dollars > 0) words.push_back(fmt::format("${:.2f}", view_.dollars));
    }
    row.add(bar(share, wide));
    return row.add("  ").add(Style::Dim, join(words, " · "));
  }

  [[nodiscard]] Row stopping() const {
    return labelled("").add(Style::Warning,
                            columns_ < kNarrow
                                ? "stopping; Ctrl-C again: now"
                                : "stopping after the current candidate; Ctrl-C again stops now");
  }

  /// All in one row: "14/40  1.57x 318 us  #13 final 31/64".
  [[nodiscard]] Row in_one_row() const {
    Row row;
    if (view_.stopping) return row.add(Style::Warning, "stopping; Ctrl-C again stops now");
    row.add(Style::Dim, view_.candidates > 0
                            ? fmt::format("{}/{}  ", judged_with_seed(), view_.candidates)
                            : fmt::format("{}  ", judged_with_seed()));
    const SeenCandidate* best = view_.best ? view_.candidate(*view_.best) : nullptr;
    if (best != nullptr && best->time) {
      row.add(Style::Good, fmt::format("{:.2f}x ", best->time->speedup()))
          .add(human_seconds(best->time->seconds) + "  ");
    }
    if (view_.running.empty()) return row;
    row.add(job_row(view_.running.front(), columns_ < kNarrow));
    return row;
  }

 private:
  [[nodiscard]] Row labelled(std::string_view label) const {
    Row row;
    row.add(Style::Dim, " " + std::string(label));
    return row.to_column(label_);
  }

  [[nodiscard]] std::string right_of_title() const {
    const std::string time = duration_text(view_.elapsed);
    const bool fits = columns_ >= kNarrow && !view_.run.empty();
    return fits ? fmt::format("run {} · {}", view_.run, time) : time;
  }

  [[nodiscard]] static std::string time_of(const SeenTime& time) {
    return human_seconds(time.seconds) + (time.predicted ? " predicted" : "");
  }

  /// "seed 498 us ━━━━━━━╸──── 212 us bound   63 % of the way".
  [[nodiscard]] std::optional<Row> number_line(const SeenTime& time) const {
    if (time.bound <= 0 || time.bound >= time.baseline) return std::nullopt;
    const double share =
        std::clamp((time.baseline - time.seconds) / (time.baseline - time.bound), 0.0, 1.0);
    const std::string from = fmt::format("seed {} ", human_seconds(time.baseline));
    const std::string to = fmt::format(" {} bound", human_seconds(time.bound));
    std::string percent = fmt::format("   {:.0f} % of the way", 100 * share);
    int room = columns_ - label_ - display_width(from) - display_width(to);
    if (room - display_width(percent) < 8) percent.clear();
    room -= display_width(percent);
    if (room < 4) return std::nullopt;
    Row row = labelled("");
    row.add(Style::Dim, from);
    row.add(way(time.baseline, time.seconds, time.bound, std::min(room, 40)));
    return row.add(Style::Dim, to).add(percent);
  }

  [[nodiscard]] int judged_with_seed() const {
    return view_.judged() + (view_.seed_time() ? 1 : 0);
  }

  /// At the pace so far; empty while there is none. Nobody knows how long the closer looks behind
  /// the last candidate take: it is their number that is missing.
  [[nodiscard]] std::string time_left() const {
    const int more = view_.candidates - judged_with_seed();
    const double until = std::max(0.0, view_.seconds - view_.elapsed);
    if (more > 0 && view_.judged_here >= 3) {
      const double seconds = view_.elapsed / view_.judged_here * more;
      if (view_.seconds <= 0 || seconds < until)
        return "the others in about " + duration_text(seconds);
    }
    if (view_.seconds > 0) return "about " + duration_text(until) + " left";
    const bool looks_closer = std::ranges::any_of(view_.running, [](const RunningJob& job) {
      return job.fidelity >= candidate::Fidelity::Scaled;
    });
    return view_.candidates > 0 && more <= 0 && looks_closer ? "closer looks at the best" : "";
  }

  const SearchView& view_;
  int columns_;
  int label_;
};

/// Rows of one part, and how many of them stay when room gets scarce.
struct Part {
  std::vector<Row> rows;
  std::size_t fewest = 0;
};

/// Takes rows away, from the part that matters least on, until the rest fits.
void shorten(std::vector<Part*> least_first, std::size_t* count, std::size_t most) {
  for (const bool whole : {false, true}) {
    for (Part* part : least_first) {
      const std::size_t keep = whole ? 0 : part->fewest;
      while (*count > most && part->rows.size() > keep) {
        part->rows.pop_back();
        --*count;
      }
    }
  }
}

}  // namespace

Row job_row(const RunningJob& job, bool narrow) {
  // Columns below each other where there is room for them.
  const auto at = [narrow](int column) { return narrow ? 0 : column; };
  Row row;
  row.add(fmt::format("#{}", job.number)).to_column(at(5));
  if (job.work == Work::Building) {
    row.add("building");
  } else if (job.work == Work::Comparing) {
    row.add("measured side by side");
  } else {
    row.add(candidate::name(job.fidelity)).to_column(at(14));
    row.add(job.all == 0 ? std::string("building") : fmt::format("{}/{}", job.done, job.all));
  }
  row.to_column(at(23)).add(Style::Dim, duration_text(job.elapsed));
  if (job.left && narrow) row.add(Style::Dim, fmt::format(" +{}", duration_text(*job.left)));
  if (job.left && !narrow)
    row.add(Style::Dim, fmt::format(", about {} left", duration_text(*job.left)));
  return row;
}

std::vector<Row> search_rows(const SearchView& view, system::TerminalSize size) {
  const int columns = std::max(size.columns - 1, 1);
  const Layout layout(view, columns);
  if (size.rows < kFewestRows) return {layout.in_one_row().clipped_to(columns)};
  Part title{{layout.title()}, 1};
  Part best{layout.best(), 1};
  Part search{layout.search(), 1};
  Part islands{layout.islands(), 2};
  Part running{layout.running(), 2};
  Part news{layout.news(), 1};
  Part last{{layout.budget()}, 1};
  if (view.stopping) last.rows.insert(last.rows.begin(), layout.stopping());
  std::vector<Part*> parts{&title, &best, &search, &islands, &running, &news, &last};
  std::size_t count = 0;
  for (Part* part : parts) {
    // As much as is worth looking at, however large the terminal is.
    const std::size_t most = part == &news ? 3 : part == &islands ? 4 : 6;
    if (part->rows.size() > most) part->rows.resize(most);
    count += part->rows.size();
  }
  const auto most = static_cast<std::size_t>(std::min(kMostRows, size.rows - 2));
  shorten({&news, &islands, &running, &best, &search, &title}, &count, most);
  std::vector<Row> rows;
  for (Part* part : parts) {
    for (const Row& row : part->rows)
      rows.push_back(row.clipped_to(columns));
  }
  return rows;
}

}  // namespace cuco::cli

// SPDX-License-Identifier: Apache-2.0
#include "check/finding/finding.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace cuco::check {
namespace {

struct KindName {
  Kind kind;
  std::string_view name;
};
constexpr std::array<KindName, 21> kKinds = {{
    {Kind::OutOfBounds, "out-of-bounds"},
    {Kind::UseAfterFree, "use-after-free"},
    {Kind::Uninitialised, "uninitialised-read"},
    {Kind::Misaligned, "misaligned"},
    {Kind::SharedRace, "shared-race"},
    {Kind::GlobalRace, "global-race"},
    {Kind::UnorderedRead, "unordered-read"},
    {Kind::SourceReuse, "source-reuse"},
    {Kind::BarrierMismatch, "barrier-mismatch"},
    {Kind::InvalidMask, "invalid-mask"},
    {Kind::BarrierIndex, "barrier-index"},
    {Kind::StaleSignal, "stale-signal"},
    {Kind::SignalCount, "signal-count"},
    {Kind::LostSignal, "lost-signal"},
    {Kind::OutsideWindow, "outside-window"},
    {Kind::Collective, "collective-mismatch"},
    {Kind::Deadlock, "deadlock"},
    {Kind::WaitDidNotWait, "wait-did-not-wait"},
    {Kind::ScheduleDependent, "schedule-dependent"},
    {Kind::Leak, "leak"},
    {Kind::Unchecked, "unchecked"},
}};

std::string place(const Site& site) {
  if (site.file.empty()) return site.kernel.empty() ? site.module : site.kernel;
  return site.line > 0 ? fmt::format("{}:{}", site.file, site.line) : site.file;
}

std::string actor(const Site& site) {
  std::string text = site.what.empty() ? "access" : site.what;
  if (site.rank >= 0) text += fmt::format(" by rank {}", site.rank);
  if (!site.kernel.empty()) text += fmt::format(" in {}", site.kernel);
  if (!site.block.empty()) text += fmt::format(", block {}", site.block);
  if (!site.thread.empty()) {
    text += fmt::format(" {}{}", site.thread.starts_with("in ") ? "" : "thread ", site.thread);
  }
  return text;
}

/// "  12 |   a[i] = b;", as compilers show it.
std::string excerpt(const Site& site, const SourceLines& lines) {
  if (!lines || site.file.empty() || site.line <= 0) return {};
  const std::string text = lines(site.file, site.line);
  return text.empty() ? std::string() : fmt::format("{:>6} | {}\n", site.line, text);
}

nlohmann::json site_json(const Site& site) {
  return {{"file", site.file},     {"line", site.line},
          {"what", site.what},     {"kernel", site.kernel},
          {"rank", site.rank},     {"block", site.block},
          {"thread", site.thread}, {"module", site.module},
          {"offset", site.offset}, {"outer_offset", site.outer_offset}};
}

Site site_from(const nlohmann::json& json) {
  Site site;
  site.file = json.value("file", "");
  site.line = json.value("line", -1);
  site.what = json.value("what", "");
  site.kernel = json.value("kernel", "");
  site.rank = json.value("rank", -1);
  site.block = json.value("block", "");
  site.thread = json.value("thread", "");
  site.module = json.value("module", "");
  site.offset = json.value("offset", std::uint64_t{0});
  site.outer_offset = json.value("outer_offset", std::uint64_t{0});
  return site;
}

}  // namespace

std::string_view name(Kind kind) {
  const auto* found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const KindName& k) { return k.kind == kind; });
  return found == kKinds.end() ? "finding" : found->name;
}

std::optional<Kind> find_kind(std::string_view wanted) {
  for (const KindName& entry : kKinds) {
    if (entry.name == wanted) return entry.kind;
  }
  return std::nullopt;
}

std::string to_text(const Finding& finding, const SourceLines& lines) {
  const std::string where = place(finding.where);
  std::string text = fmt::format("{}{}: {}\n", where.empty() ? "" : where + ": ",
                                 name(finding.kind), finding.message);
  text += excerpt(finding.where, lines);
  if (!finding.where.what.empty()) text += fmt::format("    {}\n", actor(finding.where));
  if (finding.other) {
    const std::string other = place(*finding.other);
    text +=
        fmt::format("    against {}{}\n", actor(*finding.other), other.empty() ? "" : ", " + other);
    text += excerpt(*finding.other, lines);
  }
  if (!finding.allocation.empty()) {
    const std::string made = finding.made ? place(*finding.made) : std::string();
    text += fmt::format("    in {}{}\n", finding.allocation, made.empty() ? "" : ", " + made);
    if (finding.made) text += excerpt(*finding.made, lines);
  }
  for (const std::string& note : finding.notes)
    text += fmt::format("    {}\n", note);
  if (finding.count > 1) text += fmt::format("    seen {} times\n", finding.count);
  if (!finding.hint.empty()) text += fmt::format("    fix: {}\n", finding.hint);
  return text;
}

std::string to_json(const std::vector<Finding>& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    nlohmann::json entry = {{"kind", name(finding.kind)},
                            {"message", finding.message},
                            {"where", site_json(finding.where)},
                            {"address", finding.address},
                            {"allocation", finding.allocation},
                            {"notes", finding.notes},
                            {"hint", finding.hint},
                            {"count", finding.count}};
    if (finding.other) entry["other"] = site_json(*finding.other);
    if (finding.made) entry["made"] = site_json(*finding.made);
    list.push_back(std::move(entry));
  }
  return list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::vector<Finding>> findings_from_json(std::string_view text) {
  const Error bad{ErrorKind::Protocol, "not a list of findings"};
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array()) return bad;
  std::vector<Finding> findings;
  for (const nlohmann::json& entry : list)
    try {
      if (!entry.is_object()) return bad;
      const auto kind = find_kind(entry.value("kind", ""));
      if (!kind) return bad;
      Finding finding;
      finding.kind = *kind;
      finding.message = entry.value("message", "");
      finding.where = site_from(entry.value("where", nlohmann::json::object()));
      if (entry.contains("other")) finding.other = site_from(entry["other"]);
      if (entry.contains("made")) finding.made = site_from(entry["made"]);
      finding.address = entry.value("address", std::uint64_t{0});
      finding.allocation = entry.value("allocation", "");
      finding.notes = entry.value("notes", std::vector<std::string>{});
      finding.hint = entry.value("hint", "");
      finding.count = entry.value("count", std::uint64_t{1});
      findings.push_back(std::move(finding));
    } catch (const nlohmann::json::exception&) {
      return bad;  // A field of the wrong type.
    }
  return findings;
}

void FindingList::fold_unwritten() {
  const auto same_line = [](const Site& a, const Site& b) {
    return a.line > 0 && a.line == b.line && a.file == b.file;
  };
  std::vector<Finding> kept;
  for (const Finding& one : findings_) {
    if (one.kind != Kind::Uninitialised || one.allocation.empty()) kept.push_back(one);
  }
  const auto races = static_cast<std::ptrdiff_t>(kept.size());
  for (const Finding& one : findings_) {
    if (one.kind != Kind::Uninitialised || one.allocation.empty()) continue;
    const auto end = kept.begin() + races;
    const auto cause = std::find_if(kept.begin(), end, [&](const Finding& race) {
      return (race.kind == Kind::GlobalRace || race.kind == Kind::UnorderedRead) && race.other &&
             race.allocation == one.allocation &&
             (same_line(race.where, one.where) || same_line(*race.other, one.where));
    });
    if (cause == end) {
      kept.push_back(one);
    } else {
      cause->notes.emplace_back("in this run the bytes were read before they were ever written");
    }
  }
  findings_ = std::move(kept);
}

std::optional<std::size_t> FindingList::add(Finding finding) {
  const auto same_place = [](const Site& a, const Site& b) {
    return a.file == b.file && a.line == b.line && a.kernel == b.kernel && a.module == b.module &&
           a.offset == b.offset && a.outer_offset == b.outer_offset && a.what == b.what;
  };
  for (std::size_t i = 0; i < findings_.size(); ++i) {
    Finding& known = findings_[i];
    if (known.kind != finding.kind || !same_place(known.where, finding.where)) continue;
    if (known.other.has_value() != finding.other.has_value()) continue;
    if (known.other && !same_place(*known.other, *finding.other)) continue;
    // Without a place only the message distinguishes them.
    if (finding.where.file.empty() && finding.where.module.empty() &&
        known.message != finding.message) {
      continue;
    }
    ++known.count;
    return i;
  }
  if (findings_.size() >= limit_) {
    ++dropped_;
    return std::nullopt;
  }
  findings_.push_back(std::move(finding));
  return findings_.size() - 1;
}

Suppressions Suppressions::parse(std::string_view text, std::vector<std::string>& errors) {
  Suppressions result;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t blank = line.find_first_of(" \t");
    const std::string_view kind = line.substr(0, blank);
    std::string_view file = blank == std::string_view::npos ? "*" : trim(line.substr(blank));
    Rule rule;
    if (kind != "*") {
      rule.kind = find_kind(kind);
      if (!rule.kind) {
        errors.push_back(fmt::format("line {}: no such kind of finding: {}", number, kind));
        continue;
      }
    }
    if (const std::size_t colon = file.rfind(':'); colon != std::string_view::npos) {
      const std::string_view digits = file.substr(colon + 1);
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), rule.line);
      if (error != std::errc() || end != digits.data() + digits.size()) {
        errors.push_back(fmt::format("line {}: not a line number: {}", number, digits));
        continue;
      }
      file = file.substr(0, colon);
    }
    if (file != "*") rule.file = std::string(file);
    result.rules_.push_back(std::move(rule));
  }
  return result;
}

bool Suppressions::match(const Finding& finding) const {
  const auto at = [](const Rule& rule, const Site& site) {
    return site.file.ends_with(rule.file) && (rule.line < 0 || rule.line == site.line);
  };
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    if (rule.kind && *rule.kind != finding.kind) return false;
    return at(rule, finding.where) || (finding.other && at(rule, *finding.other));
  });
}

}  // namespace cuco::check

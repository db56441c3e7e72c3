// SPDX-License-Identifier: Apache-2.0
#include "check/finding.h"

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
constexpr std::array<KindName, 16> kKinds = {{
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
    {Kind::StaleSignal, "stale-signal"},
    {Kind::LostSignal, "lost-signal"},
    {Kind::DeadLock, "dead-lock"},
    {Kind::WaitDidNotWait, "wait-did-not-wait"},
    {Kind::ScheduleDependent, "schedule-dependent"},
    {Kind::Leak, "leak"},
}};

std::string place(const Site& site) {
  if (site.file.empty()) return site.kernel.empty() ? "unknown place" : site.kernel;
  return site.line > 0 ? fmt::format("{}:{}", site.file, site.line) : site.file;
}

std::string actor(const Site& site) {
  std::string text = site.what.empty() ? "access" : site.what;
  if (site.rank >= 0) text += fmt::format(" by rank {}", site.rank);
  if (!site.kernel.empty()) text += fmt::format(" in {}", site.kernel);
  if (!site.block.empty()) text += fmt::format(", block {}", site.block);
  if (!site.thread.empty()) text += fmt::format(" thread {}", site.thread);
  return text;
}

nlohmann::json site_json(const Site& site) {
  return {{"file", site.file},     {"line", site.line}, {"what", site.what},
          {"kernel", site.kernel}, {"rank", site.rank}, {"block", site.block},
          {"thread", site.thread}};
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

std::string to_text(const Finding& finding) {
  std::string text =
      fmt::format("{}: {}: {}\n", place(finding.where), name(finding.kind), finding.message);
  text += fmt::format("    {}\n", actor(finding.where));
  if (finding.other) {
    text += fmt::format("    against {} at {}\n", actor(*finding.other), place(*finding.other));
  }
  if (!finding.allocation.empty()) text += fmt::format("    in {}\n", finding.allocation);
  if (finding.count > 1) text += fmt::format("    seen {} times\n", finding.count);
  if (!finding.hint.empty()) text += fmt::format("    {}\n", finding.hint);
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
                            {"hint", finding.hint},
                            {"count", finding.count}};
    if (finding.other) entry["other"] = site_json(*finding.other);
    list.push_back(std::move(entry));
  }
  return list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

void FindingList::add(Finding finding) {
  const auto same_place = [](const Site& a, const Site& b) {
    return a.file == b.file && a.line == b.line && a.kernel == b.kernel;
  };
  for (Finding& known : findings_) {
    if (known.kind != finding.kind || !same_place(known.where, finding.where)) continue;
    if (known.other.has_value() != finding.other.has_value()) continue;
    if (known.other && !same_place(*known.other, *finding.other)) continue;
    ++known.count;
    return;
  }
  if (findings_.size() >= limit_) {
    ++dropped_;
    return;
  }
  findings_.push_back(std::move(finding));
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

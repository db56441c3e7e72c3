// SPDX-License-Identifier: Apache-2.0
#include "judge/whole/seed_comparison.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "base/text.h"
#include "judge/whole/printed_numbers.h"

namespace cuco::judge {
namespace {

using targets::KeptRun;
using vcluster::CopyEntry;

constexpr std::size_t kMostLines = 8;

std::string times(std::size_t count) {
  return count == 1 ? "once" : fmt::format("{} times", count);
}

/// The first line that a run wrote to standard error and the seed did not: what it complains of.
/// Empty: none.
std::string complaint(const KeptRun& seed, const KeptRun& run) {
  constexpr std::size_t kMost = 160;
  const auto known = split(seed.errors, '\n');
  for (const std::string_view line : split(run.errors, '\n')) {
    const std::string_view text = trim(line);
    // Frames around text that starters of programs print.
    const bool says =
        std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) != 0; });
    if (!says || std::ranges::find(known, line) != known.end()) continue;
    return printable(text.substr(0, kMost));
  }
  return {};
}

/// Copies of one size from one device, in the order of the calls.
using Group = std::vector<const CopyEntry*>;
using Groups = std::map<std::pair<int, std::uint64_t>, std::pair<Group, Group>>;

Groups grouped(const KeptRun& seed, const KeptRun& run) {
  Groups groups;
  for (const CopyEntry& entry : seed.copy_log)
    groups[{entry.copy.device, entry.copy.bytes}].first.push_back(&entry);
  for (const CopyEntry& entry : run.copy_log)
    groups[{entry.copy.device, entry.copy.bytes}].second.push_back(&entry);
  return groups;
}

bool is_of_one_thread(const Group& group) {
  return std::ranges::all_of(
      group, [&](const CopyEntry* entry) { return entry->thread == group.front()->thread; });
}

/// How often a program polls depends on time: what came several times in a row counts once.
Group without_repeats(Group group) {
  const auto rest =
      std::ranges::unique(group, {}, [](const CopyEntry* entry) { return entry->copy.digest; });
  group.erase(rest.begin(), rest.end());
  return group;
}

class Comparison {
 public:
  Comparison(const KeptRun& seed, const KeptRun& run, const ComparisonRules& rules)
      : seed_(seed), run_(run), rules_(rules) {}

  Result<std::vector<std::string>> lines() {
    const std::string ending = targets::ending_of(run_);
    if (ending != targets::ending_of(seed_)) {
      const std::string said = complaint(seed_, run_);
      found_.push_back(fmt::format("{} (the seed {}){}{}", ending, targets::ending_of(seed_),
                                   said.empty() ? "" : ": ", said));
    }
    // A run that was cut off has printed and copied less; that says nothing more.
    if (run_.ending.server_failed) return found_;
    CUCO_TRY(compare_output());
    for (const auto& [key, group] : grouped(seed_, run_))
      CUCO_TRY(compare_group(key, group.first, group.second));
    if (found_.size() > kMostLines) {
      const std::size_t more = found_.size() - kMostLines;
      found_.resize(kMostLines);
      found_.push_back(fmt::format("and {} more differences", more));
    }
    return found_;
  }

  Result<std::string> describe_seed() {
    std::map<std::string_view, std::size_t> counts;
    for (const CopyEntry& entry : seed_.copy_log) {
      CUCO_TRY_ASSIGN(const Closeness closeness, closeness_of(entry));
      ++counts[name_of(closeness.type.type)];
    }
    std::string text;
    for (const auto& [name, count] : counts)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
    return text;
  }

 private:
  [[nodiscard]] const DeclaredCopies* declared_for(std::uint64_t bytes) const {
    const DeclaredCopies* general = nullptr;
    for (const DeclaredCopies& declared : rules_.declared) {
      if (declared.bytes == bytes) return &declared;
      if (!declared.bytes) general = &declared;
    }
    return general;
  }

  Result<KnownType> type_of(const CopyEntry& entry, const DeclaredCopies* declared) const {
    if (rules_.exact) return KnownType{.why = "bit by bit, as asked for"};
    if (declared != nullptr && declared->type) {
      return KnownType{.type = *declared->type, .why = "as declared"};
    }
    if (const auto known = vcluster::type_as_written(entry.copy.bytes, entry.written))
      return *known;
    if (!entry.offset) return KnownType{.why = "its contents were not kept"};
    CUCO_TRY_ASSIGN(const auto bytes, seed_.contents->read(entry));
    const auto floats = static_cast<vcluster::WrittenAs>(entry.written & ~vcluster::kAsInteger);
    return vcluster::type_by_contents(bytes, floats != 0 ? floats : entry.anywhere);
  }

  /// Of a copy of the seed's.
  Result<Closeness> closeness_of(const CopyEntry& entry) const {
    const DeclaredCopies* declared = declared_for(entry.copy.bytes);
    CUCO_TRY_ASSIGN(const KnownType type, type_of(entry, declared));
    const bool has_terms = declared != nullptr && declared->reduction;
    return Closeness{type, has_terms ? *declared->reduction : usual_terms(type.type, rules_.ranks)};
  }

  /// Nothing: close enough.
  Result<std::optional<std::string>> difference(const CopyEntry& seed, const CopyEntry& run) const {
    if (seed.copy == run.copy) return std::optional<std::string>();
    if (!seed.offset || !run.offset) {
      return std::optional<std::string>(
          "has other contents; how much they differ is not known, since the program brings back "
          "more than is kept of a run");
    }
    CUCO_TRY_ASSIGN(const Closeness closeness, closeness_of(seed));
    CUCO_TRY_ASSIGN(const auto expected, seed_.contents->read(seed));
    CUCO_TRY_ASSIGN(const auto got, run_.contents->read(run));
    const auto deviates = deviation(expected, got, closeness);
    if (!deviates) return std::optional<std::string>();
    return std::optional(describe(*deviates, closeness));
  }

  Result<void> compare_group(const std::pair<int, std::uint64_t>& key, Group seed, Group run) {
    const auto [device, bytes] = key;
    const bool in_order =
        !seed.empty() && !run.empty() && is_of_one_thread(seed) && is_of_one_thread(run);
    if (!seed.empty() && !run.empty() && !in_order) return compare_sets(device, bytes, seed, run);
    const std::pair before(seed.size(), run.size());
    if (seed.size() != run.size()) {
      seed = without_repeats(std::move(seed));
      run = without_repeats(std::move(run));
    }
    if (seed.size() != run.size()) {
      found_.push_back(fmt::format("copies {} bytes from device {} to the host {}, the seed {}",
                                   bytes, device, run.empty() ? "never" : times(before.second),
                                   seed.empty() ? "never" : times(before.first)));
      return {};
    }
    for (std::size_t i = 0; i < seed.size(); ++i) {
      CUCO_TRY_ASSIGN(const auto what, difference(*seed[i], *run[i]));
      if (what) add(device, bytes, i, seed.size(), *what);
    }
    return {};
  }

  /// Where several threads copy, nobody knows whose copy comes first: each must have its like.
  Result<void> compare_sets(int device, std::uint64_t bytes, const Group& seed, const Group& run) {
    std::set<std::uint64_t> both;
    std::set<std::uint64_t> digests;
    for (const CopyEntry* entry : seed)
      digests.insert(entry->copy.digest);
    for (const CopyEntry* entry : run) {
      if (digests.contains(entry->copy.digest)) both.insert(entry->copy.digest);
    }
    CUCO_TRY(look_for_likes(device, bytes, seed, run, both, false));
    return look_for_likes(device, bytes, run, seed, both, true);
  }

  Result<void> look_for_likes(int device,
                              std::uint64_t bytes,
                              const Group& mine,
                              const Group& others,
                              const std::set<std::uint64_t>& both,
                              bool is_run) {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (both.contains(mine[i]->copy.digest)) continue;
      std::optional<std::string> nearest;
      bool has_like = false;
      for (std::size_t j = 0; j < others.size() && !has_like; ++j) {
        CUCO_TRY_ASSIGN(const auto what, is_run ? difference(*others[j], *mine[i])
                                                : difference(*mine[i], *others[j]));
        has_like = !what;
        if (j == 0 || j == i) nearest = what;
      }
      if (has_like) continue;
      if (is_run) {
        add(device, bytes, i, mine.size(), "the seed copies nothing like it: " + *nearest);
      } else {
        found_.push_back(fmt::format(
            "copies nothing like the seed's copy {} of {} of {} bytes from device {}: {}", i + 1,
            mine.size(), bytes, device, *nearest));
      }
    }
    return {};
  }

  void add(int device,
           std::uint64_t bytes,
           std::size_t index,
           std::size_t count,
           const std::string& what) {
    const std::string which = count == 1 ? "" : fmt::format("{} of {} ", index + 1, count);
    found_.push_back(
        fmt::format("copy {}of {} bytes from device {}: {}", which, bytes, device, what));
  }

  /// What printed numbers may differ by: as much as those that were brought back.
  Result<double> printed_tolerance() const {
    double most = 0;
    for (const CopyEntry& entry : seed_.copy_log) {
      CUCO_TRY_ASSIGN(const Closeness closeness, closeness_of(entry));
      most = std::max(most, closeness.relative());
    }
    return most;
  }

  Result<void> compare_output() {
    // Ranks write to one stream in any order: the lines are what is compared.
    auto lost = sorted_lines(seed_.out);
    auto fresh = sorted_lines(run_.out);
    if (lost == fresh) return {};
    std::vector<std::string> mine;
    std::vector<std::string> theirs;
    std::ranges::set_difference(lost, fresh, std::back_inserter(mine));
    std::ranges::set_difference(fresh, lost, std::back_inserter(theirs));
    CUCO_TRY_ASSIGN(const double relative, printed_tolerance());
    const auto is_like = [&](const std::string& a, const std::string& b) {
      return relative > 0 && is_close(parse_line(a), parse_line(b), relative);
    };
    std::erase_if(mine, [&](const std::string& line) {
      const auto like = std::ranges::find_if(
          theirs, [&](const std::string& other) { return is_like(line, other); });
      if (like == theirs.end()) return false;
      theirs.erase(like);
      return true;
    });
    if (mine.empty() && theirs.empty()) return {};
    const auto shown = [](const std::vector<std::string>& lines) {
      return lines.empty() ? std::string("nothing") : fmt::format("\"{}\"", lines.front());
    };
    found_.push_back(fmt::format("prints {} instead of {}", shown(theirs), shown(mine)));
    return {};
  }

  static std::vector<std::string> sorted_lines(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      lines.push_back(targets::without_times(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::ranges::sort(lines);
    return lines;
  }

  const KeptRun& seed_;
  const KeptRun& run_;
  const ComparisonRules& rules_;
  std::vector<std::string> found_;
};

}  // namespace

Result<std::vector<std::string>> compare_with_seed(const KeptRun& seed,
                                                   const KeptRun& run,
                                                   const ComparisonRules& rules) {
  return Comparison(seed, run, rules).lines();
}

Result<std::string> describe_copies(const KeptRun& seed, const ComparisonRules& rules) {
  return Comparison(seed, seed, rules).describe_seed();
}

}  // namespace cuco::judge

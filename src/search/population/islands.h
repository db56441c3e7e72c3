// SPDX-License-Identifier: Apache-2.0
/// \file
/// Islands: groups of candidates that compete among themselves first, each with an archive of its
/// own, so that one early success does not crowd out everything else.
///
/// The best of each is copied to its neighbour on a schedule. When no island has gained for long,
/// one more is started, from the best of a region that the fastest is not of.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "search/population/archive.h"

namespace cuco::search {

struct IslandRules {
  int count = 2;
  int most = 8;
  int migration = 8;    ///< Candidates between two migrations.
  int stagnation = 12;  ///< Candidates without a gain before one more island is started.
  /// The first islands take nothing but these backends, one each.
  std::vector<design::Backend> bound;
};

struct Island {
  std::string name;  ///< "1", "2", … or the backend that it is bound to.
  std::optional<design::Backend> bound;
  Archive archive;
  int asked = 0;  ///< Decisions that were made for it.
};

class Islands {
 public:
  explicit Islands(IslandRules rules);

  /// Deals what has survived so far: whole regions, so that islands differ.
  void start_from(std::vector<Member> survivors);

  /// The one that was asked least; counts as asked from then on.
  std::size_t choose();

  /// A candidate of an island was judged; nothing: it has no time. One that a bound island does not
  /// take goes to the first that does.
  void see(std::size_t island, const std::optional<Member>& member);

  /// What is known of a member has changed (a higher rung): it stays where it is.
  void reassess(const Member& member);

  [[nodiscard]] const Island& operator[](std::size_t index) const { return islands_[index]; }
  [[nodiscard]] std::size_t size() const { return islands_.size(); }
  [[nodiscard]] const Member* best() const;
  /// Candidates since the fastest of all changed.
  [[nodiscard]] int since_gain() const { return since_gain_; }

 private:
  [[nodiscard]] std::size_t home(std::size_t wanted, const Member& member) const;
  void migrate();
  void start_another();

  IslandRules rules_;
  std::vector<Island> islands_;
  int seen_ = 0;
  int since_gain_ = 0;
  int since_island_ = 0;  ///< Without a gain, since the last island was started.
};

}  // namespace cuco::search

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Archive: the best candidates of every cell (MAP-Elites). A cell is never emptied by another one,
/// however much faster that is: what pays on full shapes, or after one more step, may look slow
/// now.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "candidate/candidate.h"
#include "search/population/cell.h"

namespace cuco::search {

struct Member {
  candidate::Number number = candidate::kSeed;
  Cell cell;
  double fitness = 0;  ///< Expected speed-up over the seed on full shapes.
};

class Archive {
 public:
  static constexpr std::size_t kPerCell = 3;

  /// Whether it was kept: its cell has room, or it is faster than the slowest there. Of equal ones
  /// the older stays. One that is there already is assessed anew.
  bool add(const Member& member);

  /// Cell by cell, the fastest of each first.
  [[nodiscard]] std::vector<Member> members() const;
  /// The fastest of each cell.
  [[nodiscard]] std::vector<Member> elites() const;
  /// The fastest of all; null when it is empty.
  [[nodiscard]] const Member* best() const;
  [[nodiscard]] bool empty() const { return cells_.empty(); }
  [[nodiscard]] std::size_t cells() const { return cells_.size(); }

 private:
  std::map<Cell, std::vector<Member>> cells_;
};

}  // namespace cuco::search

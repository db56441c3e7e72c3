// SPDX-License-Identifier: Apache-2.0
/// \file
/// What was expected of a candidate before it was built.
#pragma once

namespace cuco::candidate {

struct Forecast {
  double speedup = 1;    ///< Over the seed: as likely more as less.
  double low = 0;        ///< Nineteen times of twenty it is above this,
  double high = 0;       ///< and as often below this.
  double works = 1;      ///< Chance that it is correct.
  bool judged = true;    ///< False: nobody looked, it was hopeless.
  bool audited = false;  ///< It was hopeless, and is judged all the same.
  bool operator==(const Forecast&) const = default;
};

}  // namespace cuco::candidate

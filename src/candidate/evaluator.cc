// SPDX-License-Identifier: Apache-2.0
#include "candidate/evaluator.h"

namespace cuco::candidate {

std::string_view name(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::Quick:
      return "quick";
    case Fidelity::Standard:
      return "standard";
    case Fidelity::Final:
      return "final";
  }
  return "?";
}

}  // namespace cuco::candidate

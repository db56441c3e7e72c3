// SPDX-License-Identifier: Apache-2.0
/// \file
/// What of NCCL a program names, and which function of its own takes the place of each call.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expert/emit/request.h"
#include "program/tokens.h"

namespace cuco::expert {

struct DropIn {
  std::string_view nccl;
  std::string_view own;  ///< In namespace cuco.
  std::optional<emit::Collective> collective;
};
[[nodiscard]] std::span<const DropIn> drop_ins();

/// Nothing for a name that stays what it is.
[[nodiscard]] const DropIn* drop_in_for(std::string_view name);

/// "ncclFloat16", "ncclSum".
[[nodiscard]] std::string_view nccl_name(emit::Element element);
[[nodiscard]] std::string_view nccl_name(emit::Reduction reduction);

/// What the program names. What it does not name it cannot mean, unless it names none at all.
struct Uses {
  std::set<std::string_view> functions;  ///< NCCL's names of drop-ins.
  std::set<emit::Element> elements;
  std::set<emit::Reduction> reductions;

  [[nodiscard]] bool collective(emit::Collective collective) const;
};

/// Fails where a program uses what there is no kernel for, with the reason.
[[nodiscard]] Result<Uses> uses_of(std::string_view text);

}  // namespace cuco::expert

// SPDX-License-Identifier: Apache-2.0
/// \file
/// What an element loop does to memory: the accesses that can be made for several elements at once,
/// and the proof that nothing else in the loop minds.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "expert/kernels/reading/loops/element_loop.h"

namespace cuco::expert::kernels {

/// All accesses p[rest + i] of a loop with the same pointer and the same rest.
struct VectorAccess {
  std::string pointer;    ///< As written: "x", "p.values".
  std::string rest;       ///< The subscript without the index; empty: nothing else.
  std::string element;    ///< Canonical type.
  std::string type_text;  ///< As the program writes it: "T"; empty where that cannot be told.
  int element_bytes = 0;
  bool read = false;  ///< Before anything is stored.
  bool written = false;
  bool restricted = false;             ///< Nothing else leads to the memory.
  std::vector<analysis::Span> places;  ///< The expressions that stand for the element.
  const analysis::Expression *array = nullptr, *subscript = nullptr;  ///< Of the first of them.
};

struct LoopAccesses {
  std::vector<VectorAccess> accesses;  ///< In the order of their first use.
  std::set<int> reductions;            ///< Scalars from outside into which the loop accumulates.
};

/// Its size in bytes.
[[nodiscard]] int widest_element(const LoopAccesses& accesses);

/// The error says in one sentence which precondition does not hold.
[[nodiscard]] Result<LoopAccesses> find_accesses(const KernelBody& kernel,
                                                 const ElementLoop& loop,
                                                 std::string_view text);

}  // namespace cuco::expert::kernels

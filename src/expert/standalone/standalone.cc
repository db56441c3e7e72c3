// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/standalone.h"

#include <fmt/format.h>

#include "expert/edit.h"
#include "expert/standalone/header_place.h"
#include "program/tokens.h"

namespace cuco::expert {
std::string Standalone::as_one_file() const {
  std::string text = program;
  replace_once(text, include_line(kCollectivesHeaderName), headers_as_text(header));
  return text;
}

Result<Standalone> with_own_collectives(std::string_view program, const OwnDesign& design) {
  const auto names = program::identifiers(program);
  CUCO_TRY_ASSIGN(const Uses uses, uses_of(names));
  Standalone result;
  CUCO_TRY_ASSIGN(result.header, collectives_header(uses, design, Caller::WholeProgram));
  Edits edits(program);
  edits.insert(place_of_include(program, names), include_line(kCollectivesHeaderName));
  for (const program::Identifier& name : names) {
    const DropIn* call = drop_in_for(name.name);
    if (call == nullptr) continue;
    edits.replace(name.begin, name.begin + name.name.size(), fmt::format("cuco::{}", call->own));
    ++result.replaced[std::string(name.name)];
  }
  result.program = edits.apply();
  return result;
}

}  // namespace cuco::expert

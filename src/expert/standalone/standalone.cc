// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/standalone.h"

#include <fmt/format.h>

#include "expert/edit.h"
#include "expert/standalone/header_place.h"
#include "program/regions.h"
#include "program/tokens.h"

namespace cuco::expert {

std::string as_one_file(const Standalone& standalone, std::string_view text) {
  std::string one(text);
  std::string headers = headers_as_text(standalone.header);
  const auto regions = program::find_regions(text);
  if (regions && regions->empty()) headers = program::as_region("collectives", headers);
  replace_once(one, include_line(kCollectivesHeaderName), headers);
  return one;
}

Result<Standalone> with_own_collectives(std::string_view program,
                                        const OwnDesign& design,
                                        const Additions* additions) {
  const auto names = program::identifiers(program);
  CUCO_TRY_ASSIGN(const Uses uses, uses_of(program));
  Standalone result;
  CUCO_TRY_ASSIGN(result.header, collectives_header(uses, design, Caller::WholeProgram, additions));
  Edits prepared(program);
  Edits replaced = additions == nullptr ? Edits(program) : additions->edits;
  for (Edits* edits : {&prepared, &replaced})
    edits->insert(place_of_include(program, names), include_line(kCollectivesHeaderName));
  for (const program::Identifier& name : names) {
    const DropIn* call = drop_in_for(name.name);
    if (call == nullptr) continue;
    const std::string own = fmt::format("cuco::{}", call->own);
    if (additions == nullptr || !additions->renamed.contains(name.begin))
      replaced.replace(name.begin, name.begin + name.name.size(), own);
    if (!call->collective) prepared.replace(name.begin, name.begin + name.name.size(), own);
    ++result.replaced[std::string(name.name)];
  }
  result.infrastructure = prepared.apply();
  result.program = replaced.apply();
  return result;
}

}  // namespace cuco::expert

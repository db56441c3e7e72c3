// SPDX-License-Identifier: Apache-2.0
// Files that go with findings: suppressions, and findings as JSON, which keep what they say when
// they are written and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "check/finding/finding.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> errors;
  const auto suppressions = cuco::check::Suppressions::parse(text, errors);
  const auto findings = cuco::check::findings_from_json(text);
  if (!findings) return 0;
  for (const cuco::check::Finding& finding : *findings) {
    (void)suppressions.match(finding);
    (void)cuco::check::to_text(finding);
  }
  const std::string once = cuco::check::to_json(*findings);
  const auto again = cuco::check::findings_from_json(once);
  CUCO_ASSERT(again && cuco::check::to_json(*again) == once);
  return 0;
}

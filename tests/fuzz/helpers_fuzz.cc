// SPDX-License-Identifier: Apache-2.0
// What helper processes and built programs hand over: the syntax of a source, a design in words,
// jobs of the jail and of ranks, shared objects. The first byte says which.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "analysis/syntax.h"
#include "base/assert.h"
#include "design/directive.h"
#include "rank/rank_job.h"
#include "system/jobs/job_codec.h"
#include "toolchain/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  switch (data[0] % 5) {
    case 0:
      (void)cuco::analysis::parse_syntax(text).has_value();
      break;
    case 1:
      if (const auto directive = cuco::design::parse_directive(text)) {
        const auto again = cuco::design::parse_directive(cuco::design::to_text(*directive));
        CUCO_ASSERT(again && *again == *directive);
      }
      break;
    case 2:
      if (const auto spec = cuco::system::decode_spec(text)) {
        CUCO_ASSERT(cuco::system::decode_spec(cuco::system::encode(*spec)).has_value());
      }
      break;
    case 3:
      (void)cuco::rank::decode_rank_job(bytes).has_value();
      break;
    default:
      (void)cuco::toolchain::read_elf(bytes).has_value();
  }
  return 0;
}

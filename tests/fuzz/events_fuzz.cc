// SPDX-License-Identifier: Apache-2.0
// A recording of a run: any text is events, or an error; events survive being written again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "candidate/event_json.h"
#include "store/run_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)cuco::candidate::parse_outcome(text).has_value();
  const auto events = cuco::store::parse_recording(text);
  if (!events) return 0;
  const std::string once = cuco::store::to_recording(*events);
  const auto again = cuco::store::parse_recording(once);
  CUCO_ASSERT(again && cuco::store::to_recording(*again) == once);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A model's answer: whatever it says, what it makes of a program keeps the frozen bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agents/reply.h"
#include "program/tokens.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::string_view kSeed =
      "int a;\n// cuco: evolve begin kernels\nint k;\n// cuco: evolve end\nint b;\n";
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  (void)cuco::program::tokens(text);
  const auto reply = cuco::agents::parse_reply(text);
  if (!reply) return 0;
  const auto edited = cuco::agents::apply_reply(*reply, kSeed, kSeed);
  if (!edited) return 0;
  const auto frozen = cuco::program::find_frozen_edit(kSeed, *edited);
  if (!frozen || frozen->has_value()) std::abort();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A user's models.toml, and JSON that is searched for in a model's answer. A file that is refused
// changes nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "llm/catalogue/catalogue.h"
#include "llm/structured.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  cuco::llm::Catalogue mine = cuco::llm::Catalogue::shipped();
  const auto before = mine.services().size();
  if (!mine.add(text, "mine.toml") && mine.services().size() != before) std::abort();
  (void)mine.model("openai", text.substr(0, 40));
  (void)cuco::llm::parse_model_name(text, mine, "openai");
  const auto json = cuco::llm::read_structured(text);
  if (json && !json->is_object()) std::abort();
  return 0;
}

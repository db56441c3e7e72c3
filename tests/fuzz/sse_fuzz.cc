// SPDX-License-Identifier: Apache-2.0
// A model server's bytes: the event stream and the chat chunks in it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "llm/chat.h"
#include "llm/sse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  cuco::llm::ChatAnswer streamed;
  cuco::llm::SseParser parser([&](std::string_view data) { return streamed.add_event(data); });
  // The first byte says how the stream is cut.
  const std::size_t piece = size == 0 ? 1 : 1 + bytes[0] % 64U;
  for (std::size_t at = 0; at < size; at += piece) {
    if (!parser.feed(text.substr(at, piece))) return 0;
  }
  (void)parser.finish();
  cuco::llm::ChatAnswer whole;
  (void)whole.set_whole(text);
  return 0;
}

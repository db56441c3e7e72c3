// SPDX-License-Identifier: Apache-2.0
// A model server's bytes: its event stream or frames, and what each protocol makes
// of the events in it.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "llm/protocol/event_frames.h"
#include "llm/protocol/model_protocol.h"
#include "llm/protocol/sse.h"

namespace {

using namespace cuco::llm;

void read_with(Protocol protocol, std::string_view text, std::size_t piece) {
  const auto streamed = make_answer(protocol);
  SseParser parser([&](auto name, auto data) { return streamed->add_event(name, data); });
  EventFrames frames([&](auto name, auto data) { return streamed->add_event(name, data); });
  bool parses = true, frames_parse = true;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    parses = parses && parser.feed(text.substr(at, piece)).has_value();
    frames_parse = frames_parse && frames.feed(text.substr(at, piece)).has_value();
  }
  (void)parser.finish();
  (void)make_answer(protocol)->set_whole(text);
  for (const auto* name : {"contentBlockDelta", "metadata", "throttlingException", ""})
    (void)streamed->add_event(name, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  // The first byte says how the stream is cut.
  const std::size_t piece = size == 0 ? 1 : 1 + bytes[0] % 64U;
  for (int i = 0; i <= static_cast<int>(Protocol::Converse); ++i)
    read_with(static_cast<Protocol>(i), text, piece);
  return 0;
}

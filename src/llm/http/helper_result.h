// SPDX-License-Identifier: Apache-2.0
/// \file
/// What cuco-http is asked, and what it says about one attempt: the words between two processes.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/catalogue/model_facts.h"
#include "llm/http/http_request.h"

namespace cuco::llm {

/// The longest answer that is accepted: no answer to a question of ours needs more.
inline constexpr std::size_t kMostAnswer = std::size_t{4} << 20U;

struct HelperOrder {
  Protocol protocol = Protocol::Chat;
  HttpRequest request;
  std::chrono::milliseconds connect{10'000};
  std::chrono::milliseconds silence{60'000};  ///< Without a byte for so long: give it up.
  std::chrono::milliseconds deadline{300'000};
};

/// Why there is no answer.
enum class Trouble {
  None,
  Refused,    ///< The service said no, or nobody can be trusted there: asking again is useless.
  Busy,       ///< The service or the way to it is overloaded or down.
  Broken,     ///< The answer broke off or fell silent.
  Malformed,  ///< An answer that is none.
  Late,       ///< The deadline.
};

struct HelperResult {
  Trouble trouble = Trouble::None;
  std::string problem;  ///< For people.
  long status = 0;      ///< HTTP; 0: no answer at all.
  std::chrono::milliseconds retry_after{0};
  std::string text;
  Usage usage;  ///< Also of answers that broke off.
  std::string model;
  bool cut_off = false;
  bool streamed = false;
  std::chrono::milliseconds first_byte{0};
};

[[nodiscard]] std::string to_json(const HelperOrder& order);
[[nodiscard]] std::string to_json(const HelperResult& result);
[[nodiscard]] Result<HelperOrder> parse_helper_order(std::string_view json);
[[nodiscard]] Result<HelperResult> parse_helper_result(std::string_view json);

}  // namespace cuco::llm

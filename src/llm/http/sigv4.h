// SPDX-License-Identifier: Apache-2.0
/// \file
/// Amazon's Signature Version 4: a request is signed with the key instead of carrying it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "llm/http/credentials.h"

namespace cuco::llm {

/// RFC 3986: everything but letters, digits and "-._~" as %XX; '/' too unless it is to be kept.
[[nodiscard]] std::string percent_encoded(std::string_view text, bool keep_slashes = false);

struct SignedRequest {
  std::string_view method;
  std::string_view host;   ///< With the port if it is not the scheme's.
  std::string_view path;   ///< As it is sent.
  std::string_view query;  ///< As it is sent, sorted; without '?'.
  std::string_view body;
  std::map<std::string, std::string> headers;  ///< Others that are signed, in lower case.
};

/// The headers that make a request of it: Authorization, x-amz-date and, if there is one,
/// x-amz-security-token. `wall` is the time since 1970.
[[nodiscard]] std::map<std::string, std::string> sign(const SignedRequest& request,
                                                      std::string_view region,
                                                      std::string_view service,
                                                      const Credentials& credentials,
                                                      Nanoseconds wall);

}  // namespace cuco::llm

// SPDX-License-Identifier: Apache-2.0
/// \file
/// A question as the HTTP request that a service gets.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "llm/catalogue/model_facts.h"
#include "llm/http/credentials.h"

namespace cuco::llm {

/// A model of a service, and the right to ask it.
struct Endpoint {
  ServiceFacts service;
  ModelFacts facts;
  std::string model;
  Credentials credentials;
};

struct HttpRequest {
  std::string url;
  std::map<std::string, std::string> headers;  ///< The key is in one of them, if there is one.
  std::string body;
};

/// Where the endpoint's questions go. InvalidInput if the service's URL is none.
[[nodiscard]] Result<std::string> url_of(const Endpoint& endpoint);

/// InvalidInput if the service's URL is none. `wall` dates signatures.
[[nodiscard]] Result<HttpRequest> http_request(const Endpoint& endpoint,
                                               const Request& request,
                                               Nanoseconds wall);

}  // namespace cuco::llm

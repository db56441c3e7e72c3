// SPDX-License-Identifier: Apache-2.0
#include "llm/http/http_request.h"

#include <algorithm>

#include <fmt/format.h>

#include "llm/http/sigv4.h"
#include "llm/protocol/model_protocol.h"

namespace cuco::llm {
namespace {

std::string filled(std::string text, std::string_view name, std::string_view value) {
  const std::string mark = fmt::format("{{{}}}", name);
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
    text.replace(at, mark.size(), value);
  return text;
}

void add_signature(HttpRequest& made, const Endpoint& endpoint, Nanoseconds wall) {
  const std::string_view url = made.url;
  const auto host_at = url.find("//") + 2;
  const auto path_at = std::min(url.find('/', host_at), url.size());
  const auto query_at = std::min(url.find('?', path_at), url.size());
  const SignedRequest request{
      .method = "POST",
      .host = url.substr(host_at, path_at - host_at),
      .path = url.substr(path_at, query_at - path_at),
      .query = query_at == url.size() ? std::string_view() : url.substr(query_at + 1),
      .body = made.body,
      .headers = {{"content-type", "application/json"}}};
  for (auto& [name, value] :
       sign(request, endpoint.service.region, "bedrock", endpoint.credentials, wall)) {
    made.headers[name] = value;
  }
}

}  // namespace

Result<std::string> url_of(const Endpoint& endpoint) {
  const ServiceFacts& service = endpoint.service;
  std::string url = filled(service.url, "region", service.region);
  while (url.ends_with('/'))
    url.pop_back();
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return Error{ErrorKind::InvalidInput,
                 url.empty()
                     ? fmt::format("service '{}' has no URL: set llm.endpoint, or url in "
                                   "[service.{}] of your models.toml",
                                   service.name, service.name)
                     : fmt::format("'{}' is no URL: it must start with https:// or http://", url)};
  }
  std::string path(service.path.empty() ? default_path(service.protocol) : service.path);
  path = filled(std::move(path), "model", percent_encoded(endpoint.model));
  path = filled(std::move(path), "api_version", percent_encoded(service.api_version));
  // People paste the whole address: then it is complete.
  const auto question = path.find('?');
  if (std::string_view(url).ends_with(std::string_view(path).substr(0, question))) return url;
  return url + path;
}

Result<HttpRequest> http_request(const Endpoint& endpoint,
                                 const Request& request,
                                 Nanoseconds wall) {
  const ServiceFacts& service = endpoint.service;
  HttpRequest made;
  CUCO_TRY_ASSIGN(made.url, url_of(endpoint));
  Request asked = request;
  if (endpoint.facts.most_answer > 0)
    asked.max_tokens = std::min(asked.max_tokens, endpoint.facts.most_answer);
  made.body = request_body(service.protocol, asked, endpoint.facts, endpoint.model);
  made.headers = service.headers;
  made.headers["content-type"] = "application/json";
  made.headers["accept"] = service.protocol == Protocol::Converse
                               ? "application/vnd.amazon.eventstream, application/json"
                               : "text/event-stream, application/json";
  const std::string& key = endpoint.credentials.key;
  if (key.empty()) return made;
  if (service.key == KeyScheme::Bearer) made.headers["Authorization"] = "Bearer " + key;
  if (service.key == KeyScheme::Header) made.headers[service.key_header] = key;
  if (service.key == KeyScheme::SigV4) add_signature(made, endpoint, wall);
  return made;
}

}  // namespace cuco::llm

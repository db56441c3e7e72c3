// SPDX-License-Identifier: Apache-2.0
#include "llm/guards/fallback.h"

#include <optional>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"

namespace cuco::llm {

FallbackProvider::FallbackProvider(std::vector<std::unique_ptr<Provider>> chain)
    : chain_(std::move(chain)) {
  CUCO_ASSERT(!chain_.empty());
}

Result<Reply> FallbackProvider::complete(const Request& request) {
  std::optional<ErrorKind> kind;
  std::vector<std::string> problems;
  for (const auto& provider : chain_) {
    auto reply = provider->complete(request);
    if (reply) {
      if (provider != chain_.front() && reply->answered_by.empty())
        reply->answered_by = fmt::format("{}:{}", provider->name(), provider->model());
      return reply;
    }
    if (!kind) kind = reply.error().kind();
    problems.push_back(reply.error().message());
    if (request.stopped && request.stopped()) break;
  }
  return Error{*kind, join(problems, "; then ")};
}

}  // namespace cuco::llm

// SPDX-License-Identifier: Apache-2.0
/// \file
/// A chain of models: the next is asked when one cannot answer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "llm/provider.h"

namespace cuco::llm {

/// Has the name of its first member: that is who is asked. The reply says who answered. Every
/// member gets the request's whole deadline.
class FallbackProvider final : public Provider {
 public:
  /// At least one.
  explicit FallbackProvider(std::vector<std::unique_ptr<Provider>> chain);

  [[nodiscard]] std::string name() const override { return chain_.front()->name(); }
  [[nodiscard]] std::string model() const override { return chain_.front()->model(); }

  /// Fails as the first member did, with what the others said.
  Result<Reply> complete(const Request& request) override;

 private:
  std::vector<std::unique_ptr<Provider>> chain_;
};

}  // namespace cuco::llm

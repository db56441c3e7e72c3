// SPDX-License-Identifier: Apache-2.0
/// \file
/// Keys: from the environment or from a file that only its owner can read, and from nowhere else.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "llm/catalogue/model_facts.h"
#include "system/os/environment.h"
#include "system/os/files.h"

namespace cuco::llm {

struct Credentials {
  std::string key;            ///< For SigV4 the secret access key.
  std::string access_id;      ///< Only for SigV4.
  std::string session_token;  ///< Only for SigV4; may be empty.
};

/// Where a key may be, as the user says; empty: where the service's key usually is.
struct KeySources {
  std::string variable;
  system::Path file;
};

/// Unavailable if the service needs a key and there is none, with what to do. A file that others
/// can read, or a key with characters that no header may have, is InvalidInput.
[[nodiscard]] Result<Credentials> find_credentials(const ServiceFacts& service,
                                                   const KeySources& sources,
                                                   const system::Environment& environment);

/// Replaces secrets in texts that people or files will see. Short values are left alone: they would
/// match by chance.
class Scrubber {
 public:
  explicit Scrubber(std::vector<std::string> secrets);
  explicit Scrubber(const Credentials& credentials);

  [[nodiscard]] std::string operator()(std::string text) const;

 private:
  std::vector<std::string> secrets_;
};

}  // namespace cuco::llm

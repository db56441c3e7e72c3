// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cli/config/config.h"

namespace cuco::cli {
namespace {

using enum ConfigType;

// Sorted by name. A secret itself is never a value here: only the name of the variable or file
// that holds it.
constexpr auto kKeys = std::to_array<ConfigKey>({
    {"llm.endpoint", Text, "", "base address of an OpenAI-compatible service"},
    {"llm.key_file", Path, "", "file that holds the service's key"},
    {"llm.key_variable", Variable, "OPENAI_API_KEY", "variable that holds the service's key"},
    {"llm.model", Text, "", "model to ask"},
    {"run.hardware", Text, "h200", "GPU that the virtual target imitates: h200, a100 or a file"},
    {"run.patience", Duration, "60s",
     "silence after which cuco run tells which thread it waits for"},
    {"run.target", Choice, "auto", "where programs run", "auto|virtual"},
    {"search.budget", Duration, "10m", "how long a search may take"},
    {"search.jobs", Integer, "0", "candidates evaluated side by side; 0: one per core"},
    {"search.proposer", Text, "expert", "who proposes: expert, model or command:PROGRAM"},
    {"search.seed", Integer, "1", "same seed, same search"},
    {"store.folder", Path, "runs", "where runs are kept"},
});

}  // namespace

std::span<const ConfigKey> config_keys() {
  return kKeys;
}

}  // namespace cuco::cli

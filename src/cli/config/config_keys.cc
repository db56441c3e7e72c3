// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cli/config/config.h"

namespace cuco::cli {
namespace {

using enum ConfigType;

// Sorted by name. A secret itself is never a value here: only the name of the variable or file
// that holds it.
constexpr auto kKeys = std::to_array<ConfigKey>({
    {"llm.endpoint", Text, "", "base URL of an OpenAI-compatible service"},
    {"llm.key_file", Path, "", "file that contains the service's key"},
    {"llm.key_variable", Variable, "OPENAI_API_KEY",
     "environment variable that contains the service's key"},
    {"llm.model", Text, "", "model to ask"},
    {"run.hardware", Text, "h200", "GPU to simulate: h200, a100 or a file"},
    {"run.patience", Duration, "60s",
     "how long cuco run waits without progress before it names the thread"},
    {"run.target", Choice, "auto", "where programs run", "auto|virtual"},
    {"search.budget", Duration, "0s",
     "maximum duration of a search; 0s: no limit, so that a search can be repeated"},
    {"search.jobs", Integer, "0", "number of candidates to evaluate in parallel; 0: one per core"},
    {"search.proposer", Text, "expert", "expert, model or command:PROGRAM"},
    {"search.seed", Integer, "1", "seed of the search; the same seed repeats it"},
    {"search.window", Integer, "0",
     "number of decisions made before the first verdict is seen; 0: 4, or 1 with a model"},
    {"store.folder", Path, "runs", "folder of the runs"},
});

}  // namespace

std::span<const ConfigKey> config_keys() {
  return kKeys;
}

}  // namespace cuco::cli

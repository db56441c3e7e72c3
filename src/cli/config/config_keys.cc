// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cli/config/config.h"

namespace cuco::cli {
namespace {

using enum ConfigType;

// Sorted by name. A secret itself is never a value here: only the name of the variable or file
// that holds it.
constexpr auto kKeys = std::to_array<ConfigKey>({
    {"llm.call_budget", Integer, "0", "most calls to models in a run; 0: no limit"},
    {"llm.command", List, "", "program of --proposer command, with its arguments"},
    {"llm.command_environment", List, "",
     "variables that it gets, by name: HOME, PATH, ANTHROPIC_API_KEY …"},
    {"llm.deadline", Duration, "10m", "longest wait for one answer, all attempts together"},
    {"llm.dollar_budget", Number, "0",
     "most dollars of a run, by models.toml's prices; 0: no limit"},
    {"llm.effort", List, "", "how hard models think: high, or by role: propose=high"},
    {"llm.endpoint", Text, "", "base URL of the service, instead of that in models.toml"},
    {"llm.fallback", List, "", "models to ask when the first one cannot be reached"},
    {"llm.key_file", Path, "", "file (mode 600) that contains the service's key"},
    {"llm.key_variable", Variable, "",
     "environment variable that contains the key, instead of the service's usual one"},
    {"llm.mailbox", Path, "mailbox", "folder of --proposer mailbox"},
    {"llm.max_tokens", Integer, "16384", "longest answer"},
    {"llm.model", Text, "", "model to ask: NAME, or SERVICE:NAME"},
    {"llm.models_file", Path, "", "models.toml with your services, models and prices"},
    {"llm.prompt_tokens", Integer, "24000",
     "longest question, about; what is left out first: docs/guides/models.md"},
    {"llm.service", Text, "openai", "service of models that are named without one"},
    {"llm.token_budget", Integer, "0", "most tokens of a run, prompts included; 0: no limit"},
    {"run.hardware", Text, "h200", "GPU to simulate: h200, a100 or a file"},
    {"run.patience", Duration, "60s",
     "how long cuco run waits without progress before it names the thread"},
    {"run.target", Choice, "auto", "where programs run", "auto|virtual"},
    {"search.budget", Duration, "0s",
     "maximum duration of a search; 0s: no limit, so that a search can be repeated"},
    {"search.jobs", Integer, "0", "number of candidates to evaluate in parallel; 0: one per core"},
    {"search.proposer", Text, "expert", "expert, tuner, model, command:PROGRAM or mailbox:FOLDER"},
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

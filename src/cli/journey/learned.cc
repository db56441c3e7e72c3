// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/learned.h"

#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::cli {
namespace {

constexpr Nanoseconds kPause = std::chrono::milliseconds(50);
constexpr int kMostTries = 200;

}  // namespace

system::Path knowledge_file(const Config& config) {
  return system::Path(config.text("store.folder")) / "knowledge.json";
}

system::Path knowledge_file(const store::RunFolder& folder) {
  return folder.path.parent_path() / "knowledge.json";
}

Result<knowledge::Knowledge> load_knowledge(const system::Path& file) {
  std::error_code code;
  if (!std::filesystem::exists(file, code)) return knowledge::Knowledge();
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
  auto parsed = knowledge::Knowledge::parse(text);
  if (!parsed) return std::move(parsed).error().while_doing(file.string());
  return parsed;
}

Result<void> change_knowledge(const system::Path& file,
                              Clock& clock,
                              const ChangeKnowledge& change) {
  CUCO_TRY(system::make_folder(file.parent_path()));
  const system::Path lock_path = file.string() + ".lock";
  auto lock = system::lock_file(lock_path);
  // Who has it writes one file: that takes no longer.
  for (int tries = 0; tries < kMostTries && !lock; ++tries) {
    if (lock.error().kind() != ErrorKind::Unavailable) return lock.error();
    clock.sleep(kPause);
    lock = system::lock_file(lock_path);
  }
  if (!lock) return lock.error();
  CUCO_TRY_ASSIGN(auto known, load_knowledge(file));
  const std::string before = known.to_json();
  CUCO_TRY(change(known));
  const std::string after = known.to_json();
  if (after == before) return {};
  return system::write_file(file, after);
}

std::string situation_of(const analysis::CommunicationGraph& graph,
                         const candidate::Target& target) {
  std::map<std::string, int> counts;
  for (const auto& collective : graph.collectives)
    ++counts[collective.name];
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts)
    parts.push_back(count == 1 ? name : fmt::format("{} x {}", count, name));
  const std::string what = parts.empty() ? "no collective" : join(parts, ", ");
  return fmt::format("{} · {} ranks, {} of them within reach", what, target.facts.ranks,
                     target.facts.lsa_ranks);
}

Result<knowledge::Knowledge> knowledge_of(const store::RunFolder& folder,
                                          const system::Path& file) {
  const system::Path own = folder.path / "knowledge.json";
  std::error_code code;
  if (std::filesystem::exists(own, code)) return load_knowledge(own);
  CUCO_TRY_ASSIGN(auto known, load_knowledge(file));
  CUCO_TRY(system::write_file(own, known.to_json()));
  return known;
}

Result<void> learn_run(const system::Path& file,
                       Clock& clock,
                       const std::string& situation,
                       const candidate::RunState& state,
                       const store::RunFolder& folder) {
  return change_knowledge(file, clock, [&](knowledge::Knowledge& known) -> Result<void> {
    known.learn(situation, state, folder.name);
    return {};
  });
}

}  // namespace cuco::cli

// SPDX-License-Identifier: Apache-2.0
#include "judge/oracle/gpu_reference.h"

#include <cstring>

#include <fmt/format.h>

#include "base/text.h"
#include "judge/trial/bench.h"
#include "rank/rank_job.h"

namespace cuco::judge {

using wire::JudgeReport;

Result<std::unique_ptr<GpuReference>> GpuReference::start(const TrialSpec& spec,
                                                          const system::Path& object,
                                                          BenchMaker& maker) {
  workload::Workload workload = spec.workload;
  const int ranks = workload.ranks;
  workload.name += ", reference";
  workload.ranks = 1;
  workload.budget.sets = 1;
  workload::Shape shape = spec.shape;
  // What cuco/reference.h expects after the shape's own parameters.
  shape.params.push_back(ranks);
  shape.params.push_back(static_cast<long long>(spec.workload.outputs.size()));
  CUCO_TRY_ASSIGN(const auto inputs, spec.workload.buffers(spec.workload.inputs, spec.shape));
  CUCO_TRY_ASSIGN(const auto outputs, spec.workload.buffers(spec.workload.outputs, spec.shape));

  std::unique_ptr<GpuReference> reference(new GpuReference(std::move(workload), std::move(shape)));
  reference->inputs_per_rank_ = inputs.size();
  for (int rank = 0; rank < ranks; ++rank) {
    for (const workload::Buffer& buffer : inputs)
      reference->input_bytes_.push_back(buffer.bytes());
    for (const workload::Buffer& buffer : outputs) {
      const std::size_t bytes = buffer.elements * sizeof(float);
      reference->output_bytes_.insert(reference->output_bytes_.end(), {bytes, bytes});
    }
  }
  CUCO_TRY(reference->prepare(spec, object, maker));
  return reference;
}

Result<void> GpuReference::prepare(const TrialSpec& spec,
                                   const system::Path& object,
                                   BenchMaker& maker) {
  targets::VirtualSpec alone = spec.machine;
  alone.ranks = 1;
  CUCO_TRY_ASSIGN(alone.topology, system::find_data("topology/single.toml"));
  const TrialSpec own{.workload = workload_,
                      .shape = shape_,
                      .secret = spec.secret,
                      .candidate = object,
                      .machine = alone,
                      .tier = spec.tier};
  CUCO_TRY_ASSIGN(target_, maker.start_target(alone));
  CUCO_TRY_ASSIGN(process_, maker.start_ranks(own, *target_));

  CUCO_TRY(wait("start"));
  CUCO_TRY(target_->command(JudgeReport::kMakeId, 0, {}, 0));
  CUCO_TRY_ASSIGN(const auto made, wait("start"));
  rank::RankJob job;
  const std::string& id = made.front().tail;
  if (id.size() != rank::kUniqueIdBytes)
    return Error{ErrorKind::Protocol, "cuco-rank: no unique id"};
  std::memcpy(job.unique_id.data(), id.data(), id.size());
  job.ranks = 1;
  job.sets = 1;
  job.params = shape_.params;
  job.input_bytes = input_bytes_;
  job.output_bytes = output_bytes_;
  CUCO_TRY(target_->command_all(JudgeReport::kAllocate, rank::encode_rank_job(job)));
  CUCO_TRY_ASSIGN(const auto allocated, wait("allocation"));
  auto addresses = wire::read_array<std::uint64_t>(wire::bytes_of_text(allocated.front().tail),
                                                   input_bytes_.size() + output_bytes_.size());
  if (!addresses) return Error{ErrorKind::Protocol, "cuco-rank: no addresses"};
  addresses_ = *std::move(addresses);
  CUCO_TRY(target_->command_all(JudgeReport::kSetUpNow));
  CUCO_TRY(wait("cuco_setup"));
  return {};
}

Result<std::vector<targets::RankState>> GpuReference::wait(std::string_view stage) {
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(workload_.budget.run_seconds + workload_.budget.setup_seconds));
  CUCO_TRY_ASSIGN(targets::TargetEvent event, target_->wait(*process_, {.wall = limit}));
  auto* all = std::get_if<targets::AllReported>(&event);
  if (all != nullptr && all->ranks.size() == 1 && all->ranks.front().code == 0)
    return std::move(all->ranks);
  std::string why = "it did not end";
  if (all != nullptr && !all->ranks.empty()) {
    why = fmt::format("{} {}", all->ranks.front().code, all->ranks.front().tail);
  } else if (const auto* died = std::get_if<targets::RanksDied>(&event)) {
    why = join(died->who, ", ");
  }
  return Error{ErrorKind::InvalidInput,
               fmt::format("reference.cu of {} failed in {}: {}", workload_.name, stage, why)};
}

Result<std::vector<Answer>> GpuReference::answers(const Inputs& inputs) {
  for (const auto& [where, bytes] : inputs) {
    const std::size_t at = static_cast<std::size_t>(where.first) * inputs_per_rank_ + where.second;
    CUCO_TRY(target_->write(addresses_[at], bytes));
  }
  CUCO_TRY(target_->run_all(0, {}));
  CUCO_TRY(wait("cuco_run"));
  std::vector<Answer> answers(output_bytes_.size() / 2);
  for (std::size_t i = 0; i < output_bytes_.size(); ++i) {
    CUCO_TRY_ASSIGN(const std::string bytes,
                    target_->read(addresses_[input_bytes_.size() + i], output_bytes_[i]));
    std::vector<float>& values = i % 2 == 0 ? answers[i / 2].want : answers[i / 2].scale;
    values.resize(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return answers;
}

}  // namespace cuco::judge

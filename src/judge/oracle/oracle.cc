// SPDX-License-Identifier: Apache-2.0
#include "judge/oracle/oracle.h"

#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "judge/oracle/oracle_protocol.h"
#include "system/jobs/job_codec.h"
#include "system/jobs/process.h"
#include "system/os/socket.h"

namespace cuco::judge {

namespace {

class ProcessOracle final : public Oracle {
 public:
  ProcessOracle(system::Process process, system::Fd socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}

  Result<std::string> input(const workload::Workload& workload,
                            const workload::Shape& shape,
                            std::uint64_t key,
                            int rank,
                            int input,
                            std::size_t bytes) override;
  Result<Comparison> check(const workload::Workload& workload,
                           const workload::Shape& shape,
                           const Question& question,
                           std::string_view output) override;
  Result<std::string> answer(const workload::Workload& workload,
                             const workload::Shape& shape,
                             int rank,
                             int output,
                             const workload::Buffer& buffer,
                             bool coarse) override;

 private:
  Error lost(Error error);

  system::Process process_;
  system::Fd socket_;
};

Error ProcessOracle::lost(Error error) {
  process_.kill();
  const auto outcome = process_.wait();
  const std::string errors = outcome && *outcome ? (*outcome)->err : "";
  return {error.kind(), fmt::format("oracle: {} {}", error.message(), trim(errors))};
}

Result<std::string> ProcessOracle::input(const workload::Workload& workload,
                                         const workload::Shape& shape,
                                         std::uint64_t key,
                                         int rank,
                                         int input,
                                         std::size_t bytes) {
  const Json request{{"op", "input"},
                     {"key", std::to_string(key)},
                     {"ranks", workload.ranks},
                     {"params", shape.params},
                     {"rank", rank},
                     {"input", input},
                     {"bytes", bytes}};
  if (auto sent = system::send_message(socket_, request.dump()); !sent) return lost(sent.error());
  auto answer = system::receive_message(socket_);
  if (!answer) return lost(answer.error());
  return answer;
}

Result<Comparison> ProcessOracle::check(const workload::Workload& workload,
                                        const workload::Shape& shape,
                                        const Question& question,
                                        std::string_view output) {
  const workload::Tolerance& tolerance = workload.tolerance.at(question.type);
  const Json request{{"op", "check"},
                     {"ranks", workload.ranks},
                     {"params", shape.params},
                     {"rank", question.rank},
                     {"output", question.output},
                     {"inputs", workload.inputs.size()},
                     {"type", workload::name_of(question.type)},
                     {"relative", tolerance.relative},
                     {"scaled", tolerance.scaled},
                     {"seed", std::to_string(question.seed)},
                     {"limit", question.limit}};
  if (auto sent = system::send_message(socket_, request.dump()); !sent) return lost(sent.error());
  if (auto sent = system::send_message(socket_, output); !sent) return lost(sent.error());
  auto text = system::receive_message(socket_);
  if (!text) return lost(text.error());
  CUCO_TRY_ASSIGN(const Json answer, parse_json(*text));
  Comparison result;
  CUCO_TRY_ASSIGN(result.checked, integer_member(answer, "checked"));
  CUCO_TRY_ASSIGN(result.wrong, integer_member(answer, "wrong"));
  CUCO_TRY_ASSIGN(result.index, integer_member(answer, "index"));
  CUCO_TRY_ASSIGN(const std::string got, string_member(answer, "got"));
  CUCO_TRY_ASSIGN(const std::string want, string_member(answer, "want"));
  result.got = std::strtod(got.c_str(), nullptr);
  result.want = std::strtod(want.c_str(), nullptr);
  CUCO_TRY_ASSIGN(const std::string scale, string_member(answer, "scale"));
  result.scale = std::strtod(scale.c_str(), nullptr);
  return result;
}

Result<std::string> ProcessOracle::answer(const workload::Workload& workload,
                                          const workload::Shape& shape,
                                          int rank,
                                          int output,
                                          const workload::Buffer& buffer,
                                          bool coarse) {
  Json request{{"op", "answer"},
               {"ranks", workload.ranks},
               {"params", shape.params},
               {"rank", rank},
               {"output", output},
               {"inputs", workload.inputs.size()},
               {"type", workload::name_of(buffer.type)},
               {"elements", buffer.elements}};
  if (coarse) {
    CUCO_TRY_ASSIGN(const auto inputs, workload.buffers(workload.inputs, shape));
    request["coarse"] = Json::array();
    for (const workload::Buffer& input : inputs)
      request["coarse"].push_back(workload::name_of(input.type));
  }
  if (auto sent = system::send_message(socket_, request.dump()); !sent) return lost(sent.error());
  auto bytes = system::receive_message(socket_);
  if (!bytes) return lost(bytes.error());
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Oracle>> start_oracle(const system::Path& library) {
  CUCO_TRY_ASSIGN(const system::Path program, system::find_helper("cuco-oracle"));
  CUCO_TRY_ASSIGN(auto sockets, system::socket_pair(system::SocketKind::Stream));
  system::JobSpec spec;
  spec.command.argv = {program.string(), library.string()};
  spec.command.environment = system::Environment::bare();
  spec.command.fds = {{sockets.second.get(), kOracleFd}};
  CUCO_TRY_ASSIGN(system::Process process, system::Process::start(spec));
  return std::unique_ptr<Oracle>(
      std::make_unique<ProcessOracle>(std::move(process), std::move(sockets.first)));
}

}  // namespace cuco::judge

// SPDX-License-Identifier: Apache-2.0
#include "system/jobs/job_codec.h"

#include <array>
#include <bit>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "system/os/streams.h"

namespace cuco::system {
namespace {

// A full shape's input travels as one.
constexpr std::size_t kMaxMessage = std::size_t{4} << 30U;

std::vector<std::string> texts(const std::vector<Path>& paths) {
  return {paths.begin(), paths.end()};
}

std::vector<Path> paths(const Json& list) {
  std::vector<Path> result;
  for (const Json& item : list)
    result.emplace_back(item.get<std::string>());
  return result;
}

// Arguments and input are bytes, JSON strings are Unicode: each byte travels as the character of
// that number, which is exact.
std::string widen(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80U) {
      text.push_back(c);
    } else {
      text.push_back(static_cast<char>(0xC0U | (byte >> 6U)));
      text.push_back(static_cast<char>(0x80U | (byte & 0x3FU)));
    }
  }
  return text;
}

std::string narrow(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80U && i + 1 < text.size()) {
      byte = static_cast<unsigned char>((byte << 6U) |
                                        (static_cast<unsigned char>(text[++i]) & 0x3FU));
    }
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

Json limits_json(const Limits& limits) {
  return {{"wall_ms", limits.wall ? limits.wall->count() : -1},
          {"cpu_s", limits.cpu ? limits.cpu->count() : -1},
          {"memory", limits.memory},
          {"processes", limits.processes},
          {"file_size", limits.file_size},
          {"open_files", limits.open_files},
          {"output", limits.output},
          {"output_ends_job", limits.output_ends_job}};
}

Limits limits_from(const Json& json) {
  Limits limits;
  const auto wall = json.at("wall_ms").get<std::int64_t>();
  const auto cpu = json.at("cpu_s").get<std::int64_t>();
  if (wall >= 0) limits.wall = std::chrono::milliseconds(wall);
  if (cpu >= 0) limits.cpu = std::chrono::seconds(cpu);
  limits.memory = json.at("memory").get<std::uint64_t>();
  limits.processes = json.at("processes").get<std::uint32_t>();
  limits.file_size = json.at("file_size").get<std::uint64_t>();
  limits.open_files = json.at("open_files").get<std::uint32_t>();
  limits.output = json.at("output").get<std::size_t>();
  limits.output_ends_job = json.at("output_ends_job").get<bool>();
  return limits;
}

Json sandbox_json(const SandboxSpec& sandbox) {
  return {{"tier", static_cast<int>(sandbox.tier)},
          {"system_paths", sandbox.system_paths},
          {"read_only", texts(sandbox.read_only)},
          {"writable", texts(sandbox.writable)},
          {"devices", texts(sandbox.devices)}};
}

SandboxSpec sandbox_from(const Json& json) {
  SandboxSpec sandbox;
  sandbox.tier = static_cast<Tier>(json.at("tier").get<int>());
  sandbox.system_paths = json.at("system_paths").get<bool>();
  sandbox.read_only = paths(json.at("read_only"));
  sandbox.writable = paths(json.at("writable"));
  sandbox.devices = paths(json.at("devices"));
  return sandbox;
}

Command command_from(const Json& json) {
  Command command;
  for (const Json& word : json.at("argv"))
    command.argv.push_back(narrow(word.get<std::string>()));
  for (const Json& pair : json.at("environment")) {
    command.environment.set(narrow(pair.at(0).get<std::string>()),
                            narrow(pair.at(1).get<std::string>()));
  }
  command.folder = json.at("folder").get<std::string>();
  command.input = narrow(json.at("input").get<std::string>());
  for (const Json& pair : json.at("fds")) {
    command.fds.push_back({pair.at(0).get<int>(), pair.at(1).get<int>()});
  }
  return command;
}

Json command_json(const Command& command) {
  Json argv = Json::array();
  for (const std::string& word : command.argv)
    argv.push_back(widen(word));
  Json environment = Json::array();
  for (const std::string& entry : command.environment.entries()) {
    const std::size_t equals = entry.find('=');
    environment.push_back({widen(entry.substr(0, equals)), widen(entry.substr(equals + 1))});
  }
  Json fds = Json::array();
  for (const PassedFd& fd : command.fds)
    fds.push_back({fd.ours, fd.theirs});
  return {{"argv", argv},
          {"environment", environment},
          {"folder", command.folder.string()},
          {"input", widen(command.input)},
          {"fds", fds}};
}

Json outcome_json(const JobOutcome& outcome) {
  Json missing = Json::array();
  for (const MissingFence& item : outcome.missing) {
    missing.push_back({static_cast<int>(item.fence), item.why});
  }
  return {{"ending", static_cast<int>(outcome.ending)},
          {"code", outcome.code},
          {"caught_by", outcome.caught_by ? static_cast<int>(*outcome.caught_by) : -1},
          {"detail", widen(outcome.detail)},
          {"out", outcome.out.size()},
          {"err", outcome.err.size()},
          {"truncated", outcome.truncated},
          {"wall", outcome.wall.count()},
          {"cpu", outcome.cpu.count()},
          {"peak_memory", outcome.peak_memory},
          {"stragglers", outcome.stragglers},
          {"denied", outcome.denied},
          {"missing", missing}};
}

JobOutcome outcome_from(const Json& json) {
  JobOutcome outcome;
  outcome.ending = static_cast<Ending>(json.at("ending").get<int>());
  outcome.code = json.at("code").get<int>();
  if (const int fence = json.at("caught_by").get<int>(); fence >= 0) {
    outcome.caught_by = static_cast<Fence>(fence);
  }
  outcome.detail = narrow(json.at("detail").get<std::string>());
  outcome.out.resize(json.at("out").get<std::size_t>());
  outcome.err.resize(json.at("err").get<std::size_t>());
  outcome.truncated = json.at("truncated").get<bool>();
  outcome.wall = std::chrono::nanoseconds(json.at("wall").get<std::int64_t>());
  outcome.cpu = std::chrono::nanoseconds(json.at("cpu").get<std::int64_t>());
  outcome.peak_memory = json.at("peak_memory").get<std::uint64_t>();
  outcome.stragglers = json.at("stragglers").get<int>();
  outcome.denied = json.at("denied").get<std::vector<std::string>>();
  for (const Json& item : json.at("missing")) {
    outcome.missing.push_back(
        {static_cast<Fence>(item.at(0).get<int>()), item.at(1).get<std::string>()});
  }
  return outcome;
}

template <typename Decode>
auto guarded(std::string_view text, Decode decode) -> Result<decltype(decode(Json()))> {
  try {
    return decode(Json::parse(text));
  } catch (const Json::exception& error) {
    return Error{ErrorKind::Protocol, std::string("malformed job message: ") + error.what()};
  }
}

}  // namespace

std::string encode(const JobSpec& spec) {
  Json json{{"command", command_json(spec.command)}, {"limits", limits_json(spec.limits)}};
  if (spec.sandbox) json["sandbox"] = sandbox_json(*spec.sandbox);
  return json.dump();
}

Result<JobSpec> decode_spec(std::string_view text) {
  return guarded(text, [](const Json& json) {
    JobSpec spec;
    spec.command = command_from(json.at("command"));
    spec.limits = limits_from(json.at("limits"));
    if (json.contains("sandbox")) spec.sandbox = sandbox_from(json.at("sandbox"));
    return spec;
  });
}

Result<void> send_outcome(const Fd& socket, const JobOutcome& outcome) {
  CUCO_TRY(send_message(socket, to_text(outcome_json(outcome))));
  CUCO_TRY(write_all(socket.get(), outcome.out));
  return write_all(socket.get(), outcome.err);
}

Result<JobOutcome> receive_outcome(const Fd& socket) {
  CUCO_TRY_ASSIGN(const std::string text, receive_message(socket));
  CUCO_TRY_ASSIGN(JobOutcome outcome, guarded(text, outcome_from));
  CUCO_TRY(read_exactly(socket.get(), std::as_writable_bytes(std::span(outcome.out))));
  CUCO_TRY(read_exactly(socket.get(), std::as_writable_bytes(std::span(outcome.err))));
  return outcome;
}

Result<void> send_message(const Fd& socket, std::string_view text) {
  const auto length = std::bit_cast<std::array<char, 8>>(std::uint64_t{text.size()});
  CUCO_TRY(write_all(socket.get(), {length.data(), length.size()}));
  return write_all(socket.get(), text);
}

Result<std::string> receive_message(const Fd& socket) {
  std::array<std::byte, 8> prefix{};
  CUCO_TRY(read_exactly(socket.get(), prefix));
  const auto length = std::bit_cast<std::uint64_t>(prefix);
  if (length > kMaxMessage) return Error{ErrorKind::Protocol, "job message too long"};
  std::string text(length, '\0');
  CUCO_TRY(read_exactly(socket.get(), std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace cuco::system

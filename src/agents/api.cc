// SPDX-License-Identifier: Apache-2.0
#include "agents/api.h"

#include <array>

#include "base/text.h"

namespace cuco::agents {
namespace {

std::string without_comments(std::string_view header) {
  std::string code;
  for (std::size_t at = 0; at < header.size();) {
    if (header.compare(at, 2, "/*") == 0) {
      const auto end = header.find("*/", at + 2);
      at = end == std::string_view::npos ? header.size() : end + 2;
    } else if (header.compare(at, 2, "//") == 0) {
      at = std::min(header.find('\n', at), header.size());
    } else {
      code += header[at++];
    }
  }
  return code;
}

/// Directives go, with their continuation lines: a model needs signatures, not include guards.
std::string without_directives(const std::string& code) {
  std::string result;
  bool continued = false;
  for (const auto line : split(code, '\n')) {
    const auto content = trim(line);
    const bool directive = continued || content.starts_with('#');
    continued = directive && content.ends_with('\\');
    if (!directive && !content.empty()) result += std::string(line) + '\n';
  }
  return result;
}

/// What stands in braces behind a parameter list is how, not what.
bool opens_body(std::string_view before) {
  before = trim(before);
  for (const std::string_view word : {"noexcept", "const"}) {
    if (before.ends_with(word)) before = trim(before.substr(0, before.size() - word.size()));
  }
  return before.ends_with(')');
}

std::string without_bodies(std::string_view code) {
  std::string result;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (code[at] != '{' || !opens_body(result)) {
      result += code[at];
      continue;
    }
    for (int depth = 0; at < code.size(); ++at) {
      depth += code[at] == '{' ? 1 : code[at] == '}' ? -1 : 0;
      if (depth == 0) break;
    }
    while (!result.empty() && result.back() == ' ')
      result.pop_back();
    result += ';';
  }
  return result;
}

/// What set-up and teardown need of nccl.h: memory and windows.
std::string window_calls(const std::string& header) {
  constexpr std::array<std::string_view, 4> kWanted = {
      "ncclMemAlloc(", "ncclMemFree(", "ncclCommWindowRegister(", "ncclCommWindowDeregister("};
  std::string result;
  for (const auto line : split(header, '\n')) {
    const auto content = trim(line);
    if (content.starts_with("#define NCCL_WIN_")) {
      result += std::string(content) + '\n';
      continue;
    }
    for (const auto name : kWanted) {
      if (content.find(name) != std::string_view::npos &&
          content.find('p' + std::string(name)) == std::string_view::npos) {
        result += std::string(content) + '\n';
      }
    }
  }
  return result;
}

}  // namespace

std::string cut_api(const std::vector<std::string>& headers) {
  std::string result;
  for (const auto& header : headers) {
    const std::string bare = without_bodies(without_directives(without_comments(header)));
    for (const auto line : split(bare, '\n')) {
      if (!trim(line).empty()) result += std::string(line) + '\n';
    }
  }
  return result;
}

Result<std::string> device_api(const design::ProgramFacts& program,
                               const design::TopologyFacts& topology,
                               design::NcclVersion nccl,
                               const ReadHeader& read) {
  constexpr int kFirstDeviceApi = 22800;
  const bool lsa = topology.lsa_ranks > 1;
  if (!program.has_collective || nccl.code < kFirstDeviceApi || (!lsa && !topology.gin))
    return std::string();
  CUCO_TRY_ASSIGN(const std::string nccl_header, read("nccl.h"));
  std::vector<std::string> names = {"nccl_device/core.h", "nccl_device/coop.h"};
  if (lsa) names.insert(names.end(), {"nccl_device/lsa_barrier.h", "nccl_device/ll_a2a.h"});
  if (topology.gin) names.insert(names.end(), {"nccl_device/gin.h", "nccl_device/gin_barrier.h"});
  if (lsa && topology.gin) names.emplace_back("nccl_device/barrier.h");
  std::vector<std::string> headers;
  for (const auto& name : names) {
    CUCO_TRY_ASSIGN(std::string text, read(name));
    headers.push_back(std::move(text));
  }
  return window_calls(nccl_header) + cut_api(headers);
}

}  // namespace cuco::agents

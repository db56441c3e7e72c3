// SPDX-License-Identifier: Apache-2.0
#include "design/directive.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::design {
namespace {

template <typename Value>
struct Named {
  Value value;
  std::string_view name;
};

constexpr std::array kBackends{Named{Backend::Host, "host"}, Named{Backend::Lsa, "LSA"},
                               Named{Backend::Gin, "GIN"}, Named{Backend::Multimem, "multimem"},
                               Named{Backend::Hybrid, "hybrid"}};
constexpr std::array kPlacements{Named{Placement::HostOrdered, "host-ordered"},
                                 Named{Placement::StreamSplit, "stream-split"},
                                 Named{Placement::PutWaitSplit, "put/wait split"},
                                 Named{Placement::ProducerFused, "producer-fused"},
                                 Named{Placement::ConsumerFused, "consumer-fused"},
                                 Named{Placement::Persistent, "persistent"}};
constexpr std::array kSyncScopes{Named{SyncScope::GlobalBarrier, "global barrier"},
                                 Named{SyncScope::PerPeerSignal, "per-peer signal"},
                                 Named{SyncScope::PerChunkFlag, "per-chunk flag"},
                                 Named{SyncScope::IntraBlock, "intra-block"}};
constexpr std::array kIssuerUnits{Named{IssuerUnit::Thread, "thread"},
                                  Named{IssuerUnit::Warp, "warp"},
                                  Named{IssuerUnit::Block, "block"}};
constexpr std::array kChunkKinds{Named{ChunkKind::Whole, "whole"},
                                 Named{ChunkKind::PerPeer, "per peer"},
                                 Named{ChunkKind::PerTile, "per tile"}};

template <typename Table, typename Value>
std::string_view name_in(const Table& table, Value value) {
  const auto* found = std::find_if(table.begin(), table.end(),
                                   [&](const auto& entry) { return entry.value == value; });
  return found == table.end() ? std::string_view("?") : found->name;
}

/// Lower case, with '-', '_' and '/' as spaces: people and models spell these freely.
std::string fold(std::string_view text) {
  std::string folded;
  for (const char c : trim(text)) {
    const bool joins = c == '-' || c == '_' || c == '/';
    folded += joins ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return folded;
}

template <typename Table>
auto find_in(const Table& table, const std::string& folded) {
  std::optional<decltype(table[0].value)> found;
  for (const auto& entry : table) {
    if (fold(entry.name) == folded) found = entry.value;
  }
  return found;
}

std::optional<std::uint64_t> parse_number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

/// "64 kib", "1 mib", "4096 b", "4096 bytes".
std::optional<Chunk> parse_bytes(const std::string& folded) {
  const auto digits_end = folded.find_first_not_of("0123456789");
  if (digits_end == 0 || digits_end == std::string::npos) return std::nullopt;
  const auto number = parse_number(std::string_view(folded).substr(0, digits_end));
  const std::string_view unit = trim(std::string_view(folded).substr(digits_end));
  if (!number || *number == 0 || *number > (1ULL << 40U)) return std::nullopt;
  if (unit == "b" || unit == "bytes") return Chunk{ChunkKind::Bytes, *number};
  if (unit == "kib" || unit == "kb") return Chunk{ChunkKind::Bytes, *number << 10U};
  if (unit == "mib" || unit == "mb") return Chunk{ChunkKind::Bytes, *number << 20U};
  return std::nullopt;
}

std::optional<Chunk> parse_chunk(const std::string& folded) {
  if (const auto kind = find_in(kChunkKinds, folded)) return Chunk{*kind, 0};
  return parse_bytes(folded);
}

/// "warp", "warps", "warp x 4".
std::optional<Issuer> parse_issuer(const std::string& folded) {
  std::string unit = folded;
  int count = 0;
  if (const auto cross = folded.find(" x "); cross != std::string::npos) {
    const auto number = parse_number(trim(std::string_view(folded).substr(cross + 3)));
    if (!number || *number == 0 || *number > 1'000'000) return std::nullopt;
    count = static_cast<int>(*number);
    unit = std::string(trim(std::string_view(folded).substr(0, cross)));
  }
  if (unit.size() > 1 && unit.back() == 's') unit.pop_back();
  const auto found = find_in(kIssuerUnits, unit);
  return found ? std::optional(Issuer{*found, count}) : std::nullopt;
}

std::string chunk_text(const Chunk& chunk) {
  if (chunk.kind != ChunkKind::Bytes) return std::string(name_in(kChunkKinds, chunk.kind));
  constexpr std::uint64_t kKiB = 1ULL << 10U;
  constexpr std::uint64_t kMiB = 1ULL << 20U;
  if (chunk.bytes % kMiB == 0) return fmt::format("{} MiB", chunk.bytes / kMiB);
  if (chunk.bytes % kKiB == 0) return fmt::format("{} KiB", chunk.bytes / kKiB);
  return fmt::format("{} B", chunk.bytes);
}

std::string issuer_text(const Issuer& issuer) {
  const auto unit = name(issuer.unit);
  return issuer.count == 0 ? std::string(unit) : fmt::format("{} x {}", unit, issuer.count);
}

std::vector<std::string> dimensions(std::string text) {
  for (const std::string_view dot : {"·", "|"}) {
    for (auto at = text.find(dot); at != std::string::npos; at = text.find(dot)) {
      text.replace(at, dot.size(), ",");
    }
  }
  std::vector<std::string> parts;
  for (const auto part : split(text, ',')) {
    if (!trim(part).empty()) parts.emplace_back(trim(part));
  }
  return parts;
}

}  // namespace

std::string_view name(Backend backend) {
  return name_in(kBackends, backend);
}
std::string_view name(Placement placement) {
  return name_in(kPlacements, placement);
}
std::string_view name(SyncScope sync) {
  return name_in(kSyncScopes, sync);
}
std::string_view name(IssuerUnit unit) {
  return name_in(kIssuerUnits, unit);
}

std::string_view name(ChunkKind kind) {
  return kind == ChunkKind::Bytes ? "bytes" : name_in(kChunkKinds, kind);
}

std::string short_text(const Directive& directive) {
  const auto kernel = to_text(directive.kernel);
  return fmt::format("{} · {} · {} · {}{}{}", name(directive.placement), name(directive.sync),
                     issuer_text(directive.issuer), chunk_text(directive.chunk),
                     kernel.empty() ? "" : " · ", kernel);
}

std::string to_text(const Directive& directive) {
  return fmt::format("{} · {}", name(directive.backend), short_text(directive));
}

Result<Directive> parse_directive(std::string_view text) {
  std::optional<Backend> backend;
  std::optional<Placement> placement;
  std::optional<SyncScope> sync;
  std::optional<Issuer> issuer;
  std::optional<Chunk> chunk;
  KernelDesign kernel;
  // Each part may fill one dimension, and no dimension is filled twice.
  const auto place = [](auto& slot, auto found) {
    if (!found || slot) return false;
    slot = found;
    return true;
  };
  for (const auto& part : dimensions(std::string(text))) {
    const std::string folded = fold(part);
    const bool known = place(backend, find_in(kBackends, folded)) ||
                       place(placement, find_in(kPlacements, folded)) ||
                       place(sync, find_in(kSyncScopes, folded)) ||
                       place(issuer, parse_issuer(folded)) || place(chunk, parse_chunk(folded)) ||
                       read_part(folded, kernel);
    if (!known) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("directive: unknown or repeated value '{}'", part.substr(0, 60))};
    }
  }
  std::string missing;
  const auto require = [&](bool present, std::string_view dimension) {
    if (!present) missing += (missing.empty() ? "" : ", ") + std::string(dimension);
  };
  require(backend.has_value(), "backend (host, LSA, GIN, multimem, hybrid)");
  require(placement.has_value(), "placement");
  require(sync.has_value(), "sync scope");
  require(issuer.has_value(), "issuer (thread, warp, block)");
  require(chunk.has_value(), "chunk (whole, per peer, per tile, or bytes)");
  if (!missing.empty()) {
    return Error{ErrorKind::InvalidInput, fmt::format("directive: missing {}", missing)};
  }
  return Directive{*backend, *placement, *sync, *issuer, *chunk, kernel};
}

}  // namespace cuco::design

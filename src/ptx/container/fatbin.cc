// SPDX-License-Identifier: Apache-2.0
// Format (little endian), as nvcc 13 writes it:
//
//   image  = u32 0xBA55ED50, u16 version = 1, u16 header bytes = 16, u64 bytes that follow, entry*
//   entry  = u16 kind (1 PTX, 2 ELF), u16 version, u32 header bytes, u64 padded body bytes,
//            u32 stored bytes, u32 options offset, u16 ISA minor, u16 ISA major, u32 sm,
//            u32 name offset, u32 name bytes, u64 flags, u64 zero, u64 raw bytes, …, body
//
// An uncompressed body has stored = raw = 0 and ends in NULs up to its padded size.
#include "ptx/container/fatbin.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <lz4.h>
#include <zstd.h>

namespace cuco::ptx {
namespace {

constexpr std::uint32_t kMagic = 0xBA55ED50;
constexpr std::size_t kHeaderBytes = 16;
constexpr std::size_t kEntryBytes = 64;
// Flags of an entry. The format is not documented; tests/data/fatbin has an image of each kind.
constexpr std::uint64_t kLz4 = 0x2000;
constexpr std::uint64_t kZstd = 0x8000;
constexpr std::uint64_t kArchSpecific = 0x100000;
constexpr std::uint64_t kFamilySpecific = 0x200000;
constexpr std::size_t kMaxEntries = 1024;
constexpr std::uint64_t kMaxTextBytes = std::uint64_t{256} << 20U;

Error malformed(const std::string& why) {
  return {ErrorKind::InvalidInput, "fat binary: " + why};
}

template <typename T>
T load(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

FatbinEntry::Kind kind_of(std::uint16_t kind) {
  if (kind == 1) return FatbinEntry::Kind::Ptx;
  if (kind == 2) return FatbinEntry::Kind::Elf;
  return FatbinEntry::Kind::Other;
}

std::string name_of(const FatbinEntry& entry) {
  return (entry.kind == FatbinEntry::Kind::Ptx ? "compute_" : "sm_") + std::to_string(entry.sm) +
         (entry.is_arch_specific ? "a" : "");
}

}  // namespace

Result<std::uint64_t> fatbin_size(std::span<const std::byte> start) {
  if (start.size() < kHeaderBytes) return malformed("shorter than its header");
  if (load<std::uint32_t>(start, 0) != kMagic) return malformed("does not begin with its magic");
  const auto version = load<std::uint16_t>(start, 4);
  const auto header = load<std::uint16_t>(start, 6);
  const auto body = load<std::uint64_t>(start, 8);
  if (version != 1) return malformed("unknown version: " + std::to_string(version));
  if (header < kHeaderBytes || body > UINT64_MAX - header) return malformed("impossible size");
  return header + body;
}

Result<std::vector<FatbinEntry>> list_fatbin(std::span<const std::byte> image) {
  CUCO_TRY_ASSIGN(const std::uint64_t size, fatbin_size(image));
  if (size > image.size()) return malformed("cut off");
  std::vector<FatbinEntry> entries;
  std::span<const std::byte> rest = image.first(size).subspan(load<std::uint16_t>(image, 6));
  while (!rest.empty()) {
    if (rest.size() < kEntryBytes) return malformed("entry is cut off");
    const auto header = load<std::uint32_t>(rest, 4);
    const auto padded = load<std::uint64_t>(rest, 8);
    const auto stored = load<std::uint32_t>(rest, 16);
    if (header < kEntryBytes || header > rest.size() || padded > rest.size() - header ||
        stored > padded) {
      return malformed("entry is larger than the image");
    }
    if (entries.size() == kMaxEntries) return malformed("too many entries");
    FatbinEntry& entry = entries.emplace_back();
    entry.kind = kind_of(load<std::uint16_t>(rest, 0));
    entry.isa_minor = load<std::uint16_t>(rest, 24);
    entry.isa_major = load<std::uint16_t>(rest, 26);
    entry.sm = load<std::uint32_t>(rest, 28);
    entry.flags = load<std::uint64_t>(rest, 40);
    entry.is_arch_specific = (entry.flags & (kArchSpecific | kFamilySpecific)) != 0;
    entry.raw_bytes = load<std::uint64_t>(rest, 56);
    // Compressed entries are padded to 8 bytes; others give no stored size.
    entry.body = rest.subspan(header, stored != 0 ? stored : padded);
    rest = rest.subspan(header + padded);
  }
  return entries;
}

Result<std::string> bytes_of(const FatbinEntry& entry) {
  const auto* body = reinterpret_cast<const char*>(entry.body.data());
  const bool is_compressed = (entry.flags & (kZstd | kLz4)) != 0;
  std::string text;
  if (entry.body.size() > kMaxTextBytes) return malformed("an entry is too large");
  if (!is_compressed) {
    text.assign(body, entry.body.size());
  } else {
    // Code repeats itself, but not a thousandfold: a larger claim is a bomb.
    const std::uint64_t limit = std::min(
        kMaxTextBytes, (std::uint64_t{1} << 20U) + std::uint64_t{1024} * entry.body.size());
    if (entry.raw_bytes > limit) return malformed("an entry is too large");
    text.resize(entry.raw_bytes);
    std::uint64_t written = 0;
    if ((entry.flags & kZstd) != 0) {
      written = ZSTD_decompress(text.data(), text.size(), body, entry.body.size());
      if (ZSTD_isError(written) != 0) return malformed("zstd data is damaged");
    } else {
      const int count = LZ4_decompress_safe(body, text.data(), static_cast<int>(entry.body.size()),
                                            static_cast<int>(text.size()));
      if (count < 0) return malformed("LZ4 data is damaged");
      written = static_cast<std::uint64_t>(count);
    }
    text.resize(written);
  }
  return text;
}

Result<std::string> text_of(const FatbinEntry& entry) {
  CUCO_TRY_ASSIGN(std::string text, bytes_of(entry));
  // PTX is stored with a final NUL and padding.
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

// Within a major version machine code runs on its own and on newer minor versions.
bool runs_machine_code(std::uint32_t sm, std::uint32_t code) {
  return code / 10 == sm / 10 && code <= sm;
}

Result<std::string> ptx_of_fatbin(std::span<const std::byte> image, std::uint32_t sm) {
  CUCO_TRY_ASSIGN(const std::vector<FatbinEntry> entries, list_fatbin(image));
  const FatbinEntry* best = nullptr;
  const FatbinEntry* newer = nullptr;  // The oldest of those that are too new.
  bool has_machine_code = false;
  std::string others;
  for (const FatbinEntry& entry : entries) {
    if (entry.kind == FatbinEntry::Kind::Other) continue;
    const bool is_ptx = entry.kind == FatbinEntry::Kind::Ptx;
    const bool usable = is_ptx && entry.sm <= sm && (!entry.is_arch_specific || entry.sm == sm);
    if (!usable) {
      others += (others.empty() ? "" : ", ") + name_of(entry);
      if (is_ptx && entry.sm > sm && !entry.is_arch_specific &&
          (newer == nullptr || entry.sm < newer->sm)) {
        newer = &entry;
      }
      has_machine_code = has_machine_code || (!is_ptx && runs_machine_code(sm, entry.sm));
      continue;
    }
    // The newest version; of two the same, the portable one.
    const auto rank = [](const FatbinEntry& e) { return std::pair(e.sm, !e.is_arch_specific); };
    if (best == nullptr || rank(entry) > rank(*best)) best = &entry;
  }
  if (best != nullptr) return text_of(*best);
  if (newer != nullptr && has_machine_code) return text_of(*newer);
  const std::string arch = std::to_string(sm);
  return Error(ErrorKind::NotFound, "fat binary holds no PTX for sm_" + arch + ", only " +
                                        (others.empty() ? "nothing" : others) +
                                        "; compile with -gencode arch=compute_" + arch +
                                        ",code=compute_" + arch);
}

}  // namespace cuco::ptx

// SPDX-License-Identifier: Apache-2.0
/// \file
/// An ELF64 file as bytes that nobody vouches for: programs, shared objects, cubins. Every read is
/// checked against the end; what does not lie within the file is absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <elf.h>

#include "base/result.h"

namespace cuco::ptx {

class ElfFile {
 public:
  /// Reads header and section table; `bytes` must outlive the result.
  [[nodiscard]] static Result<ElfFile> open(std::span<const std::byte> bytes);

  [[nodiscard]] std::uint16_t machine() const { return header_.e_machine; }
  [[nodiscard]] const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  [[nodiscard]] std::string_view name(const Elf64_Shdr& section) const;
  /// What lies in the file of it: cut off at the end, empty for .bss.
  [[nodiscard]] std::span<const std::byte> contents(const Elf64_Shdr& section) const;
  /// The section that sh_link names: a symbol table's strings, a dynamic section's names.
  [[nodiscard]] const Elf64_Shdr* linked(const Elf64_Shdr& section) const;
  /// The NUL-terminated string at an offset of a string table.
  [[nodiscard]] std::string_view text(const Elf64_Shdr& table, std::uint64_t offset) const;

  /// The section's body as whole entries; nothing if the file ends before the last of them.
  template <typename Entry>
  [[nodiscard]] std::optional<std::vector<Entry>> entries(const Elf64_Shdr& section) const {
    const auto body = contents(section);
    if (section.sh_type != SHT_NOBITS && body.size() != section.sh_size) return std::nullopt;
    std::vector<Entry> list(body.size() / sizeof(Entry));
    if (!list.empty()) std::memcpy(list.data(), body.data(), list.size() * sizeof(Entry));
    return list;
  }

  /// Whether these bytes are anywhere in the file.
  [[nodiscard]] bool contains(std::string_view text) const;

 private:
  explicit ElfFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
};

/// A value within a section's body; nothing beyond its end.
template <typename T>
[[nodiscard]] std::optional<T> load(std::span<const std::byte> body, std::uint64_t offset) {
  if (offset > body.size() || body.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, body.data() + offset, sizeof value);
  return value;
}

}  // namespace cuco::ptx

// SPDX-License-Identifier: Apache-2.0
// A cubin is an ELF64 file. Its section .nv.info is a list of attributes
//   u8 format, u8 attribute, then by format: 4: u16 bytes and that many; others: u16 value
// of which 0x2F (EIATTR_REGCOUNT, format 4) holds u32 symbol, u32 registers.
#include "ptx/container/cubin.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <elf.h>

#include "ptx/container/fatbin.h"

namespace cuco::ptx {
namespace {

constexpr std::uint8_t kSized = 4;
constexpr std::uint8_t kRegisterCount = 0x2F;
constexpr std::uint32_t kMaxRegisters = 255;

/// Reads of the file with every bound tested.
class Elf {
 public:
  explicit Elf(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  [[nodiscard]] std::optional<T> read(std::uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] std::string_view text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + offset,
                                bytes_.size() - offset);
    return rest.substr(0, rest.find('\0'));
  }

 private:
  std::span<const std::byte> bytes_;
};

Error malformed(const char* why) {
  return {ErrorKind::InvalidInput, std::string("cubin: ") + why};
}

std::string name_of_symbol(const Elf& elf,
                           const std::vector<Elf64_Shdr>& sections,
                           const Elf64_Shdr& table,
                           std::uint32_t index) {
  if (index >= table.sh_size / sizeof(Elf64_Sym) || table.sh_link >= sections.size()) return {};
  const auto symbol = elf.read<Elf64_Sym>(table.sh_offset + index * sizeof(Elf64_Sym));
  if (!symbol) return {};
  return std::string(elf.text(sections[table.sh_link].sh_offset + symbol->st_name));
}

}  // namespace

Result<RegisterCounts> registers_of_cubin(std::span<const std::byte> cubin) {
  const Elf elf(cubin);
  const auto header = elf.read<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64) {
    return malformed("not an ELF64 file");
  }
  std::vector<Elf64_Shdr> sections;
  for (std::uint32_t i = 0; i < header->e_shnum; ++i) {
    const auto section =
        elf.read<Elf64_Shdr>(header->e_shoff + std::uint64_t{i} * header->e_shentsize);
    if (!section) return malformed("section table is cut off");
    sections.push_back(*section);
  }
  if (header->e_shstrndx >= sections.size()) return malformed("sections have no names");
  const std::uint64_t names = sections[header->e_shstrndx].sh_offset;
  RegisterCounts counts;
  for (const Elf64_Shdr& section : sections) {
    if (elf.text(names + section.sh_name) != ".nv.info") continue;
    if (section.sh_link >= sections.size()) return malformed("attributes without symbols");
    const std::uint64_t end = section.sh_offset + section.sh_size;
    for (std::uint64_t at = section.sh_offset; at < end;) {
      const auto format = elf.read<std::uint8_t>(at);
      const auto attribute = elf.read<std::uint8_t>(at + 1);
      const auto value = elf.read<std::uint16_t>(at + 2);
      if (!format || !attribute || !value) return malformed("attributes are cut off");
      if (*format == kSized && *attribute == kRegisterCount) {
        const auto symbol = elf.read<std::uint32_t>(at + 4);
        const auto registers = elf.read<std::uint32_t>(at + 8);
        if (!symbol || !registers) return malformed("attributes are cut off");
        const std::string name = name_of_symbol(elf, sections, sections[section.sh_link], *symbol);
        if (!name.empty() && *registers != 0 && *registers <= kMaxRegisters) {
          counts[name] = *registers;
        }
      }
      at += 4 + (*format == kSized ? *value : 0);
    }
  }
  return counts;
}

RegisterCounts registers_of_fatbin(std::span<const std::byte> image, std::uint32_t sm) {
  const auto entries = list_fatbin(image);
  if (!entries) return {};
  for (const FatbinEntry& entry : *entries) {
    if (entry.kind != FatbinEntry::Kind::Elf || entry.sm != sm) continue;
    const auto bytes = bytes_of(entry);
    if (!bytes) continue;
    if (auto counts = registers_of_cubin(std::as_bytes(std::span(*bytes)))) return *counts;
  }
  return {};
}

}  // namespace cuco::ptx

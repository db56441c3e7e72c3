// SPDX-License-Identifier: Apache-2.0
#include "toolchain/elf.h"

#include <cstring>
#include <optional>

#include <elf.h>

namespace cuco::toolchain {
namespace {

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  [[nodiscard]] std::string text(std::uint64_t offset) const {
    std::string result;
    for (; offset < bytes_.size(); ++offset) {
      const char c = static_cast<char>(bytes_[offset]);
      if (c == '\0' || result.size() > 4096) break;
      result.push_back(c);
    }
    return result;
  }

 private:
  std::span<const std::byte> bytes_;
};

Error malformed() {
  return {ErrorKind::InvalidInput, "not a well-formed ELF64 shared object"};
}

bool read_symbols(const Reader& reader,
                  const Elf64_Shdr& table,
                  std::uint64_t names,
                  ElfFacts& facts) {
  const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  for (std::uint64_t i = 1; i < count; ++i) {  // entry 0 is reserved
    const auto symbol = reader.at<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
    if (!symbol) return false;
    const std::string name = reader.text(names + symbol->st_name);
    (symbol->st_shndx == SHN_UNDEF ? facts.undefined : facts.defined).insert(name);
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC) facts.has_ifunc = true;
  }
  return true;
}

/// Load-time code without a symbol that others see: resolvers of local functions.
bool read_relocations(const Reader& reader, const Elf64_Shdr& table, ElfFacts& facts) {
  for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.sh_size; at += sizeof(Elf64_Rela)) {
    const auto entry = reader.at<Elf64_Rela>(table.sh_offset + at);
    if (!entry) return false;
    if (ELF64_R_TYPE(entry->r_info) == R_X86_64_IRELATIVE) facts.has_ifunc = true;
  }
  return true;
}

}  // namespace

Result<ElfFacts> read_elf(std::span<const std::byte> bytes) {
  const Reader reader(bytes);
  const auto header = reader.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr)) {
    return malformed();
  }
  ElfFacts facts;
  const auto names = reader.at<Elf64_Shdr>(header->e_shoff +
                                           std::uint64_t{header->e_shstrndx} * sizeof(Elf64_Shdr));
  if (!names) return malformed();
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto section = reader.at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return malformed();
    switch (section->sh_type) {
      case SHT_DYNSYM: {
        const auto strings = reader.at<Elf64_Shdr>(
            header->e_shoff + std::uint64_t{section->sh_link} * sizeof(Elf64_Shdr));
        if (!strings || !read_symbols(reader, *section, strings->sh_offset, facts))
          return malformed();
        break;
      }
      case SHT_INIT_ARRAY:
      case SHT_PREINIT_ARRAY:
        facts.init_entries += section->sh_size / sizeof(Elf64_Addr);
        break;
      case SHT_FINI_ARRAY:
        facts.fini_entries += section->sh_size / sizeof(Elf64_Addr);
        break;
      case SHT_RELA:
        if (!read_relocations(reader, *section, facts)) return malformed();
        break;
      case SHT_PROGBITS: {
        const std::string name = reader.text(names->sh_offset + section->sh_name);
        if (name == ".init") facts.init_bytes += section->sh_size;
        if (name == ".fini") facts.fini_bytes += section->sh_size;
        break;
      }
      default:
        break;
    }
  }
  return facts;
}

}  // namespace cuco::toolchain

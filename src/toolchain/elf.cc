// SPDX-License-Identifier: Apache-2.0
#include "toolchain/elf.h"

#include "ptx/container/elf_file.h"

namespace cuco::toolchain {
namespace {

using ptx::ElfFile;

Error malformed() {
  return {ErrorKind::InvalidInput, "not a well-formed ELF64 shared object"};
}

bool read_symbols(const ElfFile& file, const Elf64_Shdr& table, ElfFacts& facts) {
  const Elf64_Shdr* strings = file.linked(table);
  const auto symbols = file.entries<Elf64_Sym>(table);
  if (strings == nullptr || !symbols) return false;
  const std::size_t names = file.contents(*strings).size();
  for (std::size_t i = 1; i < symbols->size(); ++i) {  // entry 0 is reserved
    const Elf64_Sym& symbol = (*symbols)[i];
    // A name that we cannot read is one that we cannot refuse.
    if (symbol.st_name >= names) return false;
    (symbol.st_shndx == SHN_UNDEF ? facts.undefined : facts.defined)
        .emplace(file.text(*strings, symbol.st_name));
    if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) facts.has_ifunc = true;
  }
  return true;
}

/// Load-time code without a symbol that others see: resolvers of local functions.
bool read_relocations(const ElfFile& file, const Elf64_Shdr& table, ElfFacts& facts) {
  const auto entries = file.entries<Elf64_Rela>(table);
  if (!entries) return false;
  for (const Elf64_Rela& entry : *entries) {
    if (ELF64_R_TYPE(entry.r_info) == R_X86_64_IRELATIVE) facts.has_ifunc = true;
  }
  return true;
}

bool read_section(const ElfFile& file, const Elf64_Shdr& section, ElfFacts& facts) {
  switch (section.sh_type) {
    case SHT_DYNSYM:
      return read_symbols(file, section, facts);
    case SHT_INIT_ARRAY:
    case SHT_PREINIT_ARRAY:
      facts.init_entries += section.sh_size / sizeof(Elf64_Addr);
      return true;
    case SHT_FINI_ARRAY:
      facts.fini_entries += section.sh_size / sizeof(Elf64_Addr);
      return true;
    case SHT_RELA:
      return read_relocations(file, section, facts);
    case SHT_PROGBITS:
      if (file.name(section) == ".init") facts.init_bytes += section.sh_size;
      if (file.name(section) == ".fini") facts.fini_bytes += section.sh_size;
      return !file.name(section).empty();
    default:
      return true;
  }
}

}  // namespace

Result<ElfFacts> read_elf(std::span<const std::byte> bytes) {
  const auto file = ElfFile::open(bytes);
  if (!file) return malformed();
  ElfFacts facts;
  for (const Elf64_Shdr& section : file->sections()) {
    if (!read_section(*file, section, facts)) return malformed();
  }
  return facts;
}

}  // namespace cuco::toolchain

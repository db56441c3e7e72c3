// SPDX-License-Identifier: Apache-2.0
#include "ptx/container/elf_file.h"

#include <algorithm>

namespace cuco::ptx {

Result<ElfFile> ElfFile::open(std::span<const std::byte> bytes) {
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return Error{ErrorKind::InvalidInput, "no ELF"};
  if (header->e_ident[EI_CLASS] != ELFCLASS64) return Error{ErrorKind::InvalidInput, "not ELF64"};
  if (header->e_shnum > 0 && header->e_shentsize != sizeof(Elf64_Shdr))
    return Error{ErrorKind::InvalidInput, "sections of an unknown size"};
  ElfFile file(bytes);
  file.header_ = *header;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = load<Elf64_Shdr>(bytes, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return Error{ErrorKind::InvalidInput, "section table is cut off"};
    file.sections_.push_back(*section);
  }
  return file;
}

std::string_view ElfFile::name(const Elf64_Shdr& section) const {
  if (header_.e_shstrndx >= sections_.size()) return {};
  return text(sections_[header_.e_shstrndx], section.sh_name);
}

std::span<const std::byte> ElfFile::contents(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes_.size()) return {};
  return bytes_.subspan(section.sh_offset, std::min<std::uint64_t>(
                                               section.sh_size, bytes_.size() - section.sh_offset));
}

const Elf64_Shdr* ElfFile::linked(const Elf64_Shdr& section) const {
  return section.sh_link < sections_.size() ? &sections_[section.sh_link] : nullptr;
}

std::string_view ElfFile::text(const Elf64_Shdr& table, std::uint64_t offset) const {
  const std::span<const std::byte> body = contents(table);
  if (offset >= body.size()) return {};
  const auto* start = reinterpret_cast<const char*>(body.data()) + offset;
  return {start, strnlen(start, body.size() - offset)};
}

bool ElfFile::contains(std::string_view text) const {
  const std::string_view all(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  return all.find(text) != std::string_view::npos;
}

}  // namespace cuco::ptx

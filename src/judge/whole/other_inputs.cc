// SPDX-License-Identifier: Apache-2.0
#include "judge/whole/other_inputs.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "judge/whole/printed_numbers.h"
#include "ptx/container/executable.h"
#include "ptx/parse/parse.h"

namespace cuco::judge {
namespace {

vcluster::WrittenAs type_bits(ptx::Type type) {
  switch (type) {
    case ptx::Type::F16:
    case ptx::Type::F16x2:
      return vcluster::kAsFloat16;
    case ptx::Type::Bf16:
    case ptx::Type::Bf16x2:
      return vcluster::kAsBfloat16;
    case ptx::Type::F32:
    case ptx::Type::F32x2:
    case ptx::Type::Tf32:
      return vcluster::kAsFloat32;
    case ptx::Type::F64:
      return vcluster::kAsFloat64;
    default:
      return 0;
  }
}

/// What was said, without the numbers that depend on the data.
std::vector<std::string> words_of(const std::string& output) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(output, '\n'))
    lines.push_back(parse_line(targets::without_times(line)).text);
  std::ranges::sort(lines);
  return lines;
}

}  // namespace

Result<vcluster::WrittenAs> float_types(const system::Path& built, std::uint32_t sm) {
  CUCO_TRY_ASSIGN(const std::string file, system::read_file(built));
  vcluster::WrittenAs types = 0;
  for (const std::string& text : ptx::ptx_texts(std::as_bytes(std::span(file)), sm)) {
    CUCO_TRY_ASSIGN(const ptx::Module module, ptx::parse(text));
    for (const ptx::Function& function : module.functions) {
      for (const ptx::Instruction& instruction : function.instructions) {
        for (const ptx::Type type : instruction.types)
          types |= type_bits(type);
      }
    }
  }
  return types;
}

Taken are_taken(const targets::KeptRun& own, const targets::KeptRun& others) {
  if (targets::ending_of(own) != targets::ending_of(others)) return Taken::Refused;
  if (words_of(own.out) != words_of(others.out)) return Taken::Refused;
  return own.copies == others.copies ? Taken::NothingNew : Taken::Yes;
}

std::string_view left_out(Taken taken) {
  switch (taken) {
    case Taken::Yes:
      return "";
    case Taken::Refused:
      return "other inputs than its own: the seed does not accept them";
    case Taken::NothingNew:
      return "other inputs than its own: it sends no floating-point data to its devices that "
             "matters";
  }
  return "";
}

}  // namespace cuco::judge

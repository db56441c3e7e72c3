// SPDX-License-Identifier: Apache-2.0
#include "report/torch/torch_export.h"

#include <cctype>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "program/tokens.h"
#include "report/progress.h"
#include "report/template_text.h"

namespace cuco::report {
namespace {

/// "bf16 ? bf16 : fp32" in C++: words behind '?' and ':' are types, and so is a word alone.
std::string type_code(const std::string& formula) {
  std::string code;
  bool is_type = formula.find('?') == std::string::npos;
  for (std::size_t at = 0; at < formula.size();) {
    const auto c = static_cast<unsigned char>(formula[at]);
    if (std::isalpha(c) != 0) {
      std::size_t end = at;
      while (end < formula.size() && std::isalnum(static_cast<unsigned char>(formula[end])) != 0)
        ++end;
      code += (is_type ? "Element::" : "") + formula.substr(at, end - at);
      at = end;
      is_type = false;
      continue;
    }
    if (c == '?' || c == ':') is_type = true;
    code += formula[at++];
  }
  return code;
}

std::string buffers_code(const std::vector<TorchKernel::Buffer>& buffers) {
  std::vector<std::string> parts;
  for (const auto& buffer : buffers) {
    parts.push_back(fmt::format("{{\"{}\", static_cast<size_t>({}), {}}}", buffer.name,
                                buffer.elements, type_code(buffer.type)));
  }
  return join(parts, ", ");
}

/// The formulas' names: numbers as workload.toml has them, not integers.
std::string variables_code(const std::vector<std::string>& params) {
  std::string code;
  for (std::size_t i = 0; i < params.size(); ++i)
    code += fmt::format("  [[maybe_unused]] const double {} = params[{}];\n", params[i], i);
  return code +
         "  [[maybe_unused]] const double ranks = 1;\n"
         "  [[maybe_unused]] const auto min = [](double a, double b) { return a < b ? a : b; };\n";
}

std::string numbers(const std::vector<long long>& values) {
  std::vector<std::string> parts;
  for (const long long value : values)
    parts.push_back(std::to_string(value));
  return join(parts, ", ");
}

std::string shapes_code(const std::vector<TorchKernel::Shape>& shapes) {
  std::vector<std::string> parts;
  for (const auto& shape : shapes)
    parts.push_back("{" + numbers(shape.params) + "}");
  return join(parts, ", ");
}

std::string python_shapes(const std::vector<TorchKernel::Shape>& shapes) {
  std::string text;
  for (const auto& shape : shapes) {
    std::vector<std::string> sizes;
    for (const auto& [elements, type] : shape.inputs)
      sizes.push_back(fmt::format("({}, \"{}\")", elements, type));
    text += fmt::format("    ([{}], [{}]),\n", numbers(shape.params), join(sizes, ", "));
  }
  return text;
}

std::string input_names(const TorchKernel& kernel) {
  std::vector<std::string> names;
  for (const auto& buffer : kernel.inputs)
    names.push_back(buffer.name);
  return join(names, ", ");
}

/// Nothing of NCCL is needed here, nor need it be installed.
std::string header_without_nccl(std::string_view header) {
  std::string text(header);
  constexpr std::string_view kInclude = "#include <nccl.h>\n";
  if (const auto at = text.find(kInclude); at != std::string::npos)
    text.replace(at, kInclude.size(), "typedef struct ncclComm* ncclComm_t; /* not used here */\n");
  return text;
}

bool uses_nccl(std::string_view program) {
  if (program.find("nccl.h>") != std::string_view::npos ||
      program.find("nccl_device.h>") != std::string_view::npos)
    return true;
  for (const std::string& token : program::tokens(program)) {
    if (token.starts_with("nccl")) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<program::File>> torch_folder(const candidate::RunState& state,
                                                candidate::Number number,
                                                std::string_view run,
                                                const TorchKernel& kernel,
                                                std::string_view header) {
  const auto& entry = state.entries[static_cast<std::size_t>(number)];
  const auto tuned = entry.candidate.source.find("program.cu");
  const auto original = state.entries.front().candidate.source.find("program.cu");
  if (tuned == nullptr || original == nullptr)
    return Error{ErrorKind::InvalidInput, "the candidate has no program.cu"};
  if (uses_nccl(tuned->text) || uses_nccl(original->text)) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{} uses NCCL: only kernels of one GPU become PyTorch extensions",
                             kernel.name)};
  }
  const auto* scored = entry.scored();
  std::map<std::string, std::string> values{
      {"name", kernel.name},
      {"run", std::string(run)},
      {"number", std::to_string(number)},
      {"workload", state.started ? state.started->workload : "?"},
      {"time", scored == nullptr
                   ? "not timed"
                   : fmt::format("{} on {}, {:.2f}x the seed", time_text(*scored), scored->hardware,
                                 scored->baseline_seconds / scored->seconds)},
      {"params", join(kernel.params, ", ")},
      {"n_params", std::to_string(kernel.params.size())},
      {"variables", variables_code(kernel.params)},
      {"inputs", buffers_code(kernel.inputs)},
      {"outputs", buffers_code(kernel.outputs)},
      {"input_names", input_names(kernel)},
      {"shapes", shapes_code(kernel.shapes)},
      {"python_shapes", python_shapes(kernel.shapes)},
      {"fp32_tolerance", fmt::format("{:g}", kernel.fp32_tolerance)},
      {"bf16_tolerance", fmt::format("{:g}", kernel.bf16_tolerance)}};
  std::vector<program::File> files = {{"kernel.h", filled("kernel.h.in", values)},
                                      {"kernel.cc", filled("kernel.cc.in", values)},
                                      {"binding.cpp", filled("binding.cpp.in", values)},
                                      {"check.cu", filled("check.cu.in", values)},
                                      {"setup.py", filled("setup.py.in", values)},
                                      {"test_torch.py", filled("test_torch.py.in", values)},
                                      {"Makefile", filled("Makefile.torch.in", values)},
                                      {"README.md", filled("README.torch.md.in", values)},
                                      {"include/cuco/workload.h", header_without_nccl(header)},
                                      {"tuned/program.cu", tuned->text},
                                      {"original/program.cu", original->text}};
  for (const char* version : {"tuned", "original"}) {
    values["version"] = version;
    files.push_back({fmt::format("{}.cu", version), filled("version.cu.in", values)});
  }
  return files;
}

}  // namespace cuco::report

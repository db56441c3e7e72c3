// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/arguments.h"

namespace cuco::cli {
namespace {

template <typename T>
bool store_number(T& target, const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || rest != end) return false;
  target = value;
  return true;
}

}  // namespace

bool store_value(std::string& target, const std::string& text) {
  target = text;
  return true;
}
bool store_value(std::filesystem::path& target, const std::string& text) {
  target = text;
  return !text.empty();
}
bool store_value(double& target, const std::string& text) {
  return store_number(target, text);
}
bool store_value(int& target, const std::string& text) {
  return store_number(target, text);
}
bool store_value(std::int64_t& target, const std::string& text) {
  return store_number(target, text);
}
bool store_value(std::uint64_t& target, const std::string& text) {
  return store_number(target, text);
}
bool store_value(bool& target, const std::string& text) {
  if (text != "true" && text != "false") return false;
  target = text == "true";
  return true;
}

Argument& Arguments::flag(std::string name, bool& target, std::string help) {
  return add(Argument::Kind::Flag, std::move(name), target, std::move(help));
}

void Arguments::rest(std::string name, std::vector<std::string>& target, std::string help) {
  rest_ = &target;
  rest_name_ = std::move(name);
  rest_help_ = std::move(help);
}

void Arguments::rest_follows_program(std::function<bool(const std::string&)> is_source) {
  is_source_ = std::move(is_source);
}

}  // namespace cuco::cli

// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a command accepts, as data: the parser, the help text, the shell completion and the
/// suggestions for misspelt options are all made from this one list.
#pragma once

#include <charconv>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cuco::cli {

/// The options every command has, before or after its name.
inline constexpr std::string_view kGlobalOptions[] = {
    "--verbose", "--quiet", "--json", "--no-color", "--help", "--version", "--set"};

/// What a shell offers where this argument's value is wanted.
enum class Completion {
  Nothing,
  File,
  Folder,
  Hardware,  ///< A name that is shipped, or a file; the same for the next two.
  Topology,
  Workload,
  Run,  ///< A number of a run, or "last".
};

/// One option ("--ranks"), flag or positional ("PROGRAM").
struct Argument {
  enum class Kind { Flag, Option, Positional };

  Kind kind = Kind::Flag;
  std::string name;
  std::string help;
  std::string placeholder;  ///< What the value is called in the help: "N", "FILE".
  /// Stores one value; returns false if the text is not such a value.
  std::function<bool(const std::string&)> store;
  std::string expected;  ///< What `store` accepts: "a number".
  char letter = 0;       ///< Short form, 0 for none.
  bool required = false;
  bool repeated = false;
  std::vector<std::string> choices;
  Completion completion = Completion::Nothing;

  Argument& with_letter(char short_form) { return letter = short_form, *this; }
  Argument& optional() { return required = false, *this; }
  Argument& one_of(std::vector<std::string> values) { return choices = std::move(values), *this; }
  Argument& completes(Completion kind_of_value) { return completion = kind_of_value, *this; }
};

/// Turns one word into a value; the target keeps its default when the option is absent.
bool store_value(std::string& target, const std::string& text);
bool store_value(std::filesystem::path& target, const std::string& text);
bool store_value(double& target, const std::string& text);
bool store_value(bool& target, const std::string& text);
bool store_value(int& target, const std::string& text);
bool store_value(std::int64_t& target, const std::string& text);
bool store_value(std::uint64_t& target, const std::string& text);
template <typename T>
bool store_value(std::optional<T>& target, const std::string& text) {
  T value{};
  if (!store_value(value, text)) return false;
  target = std::move(value);
  return true;
}
template <typename T>
bool store_value(std::vector<T>& target, const std::string& text) {
  return store_value(target.emplace_back(), text);
}

/// The arguments of one command. The targets named here must outlive the parse.
class Arguments {
 public:
  Argument& flag(std::string name, bool& target, std::string help);

  template <typename T>
  Argument& option(std::string name, T& target, std::string placeholder, std::string help) {
    Argument& added = add(Argument::Kind::Option, std::move(name), target, std::move(help));
    added.placeholder = std::move(placeholder);
    return added;
  }

  /// Positionals are filled in the order of declaration and required unless made `optional()`.
  template <typename T>
  Argument& positional(std::string name, T& target, std::string help) {
    Argument& added = add(Argument::Kind::Positional, std::move(name), target, std::move(help));
    added.required = true;
    added.completion = Completion::File;
    return added;
  }

  /// Takes everything after "--", untouched.
  void rest(std::string name, std::vector<std::string>& target, std::string help);

  /// The "--" may be left out, as with mpirun: what follows the program is the program's. Words for
  /// which `is_source` holds are parts of a program whose first part is one, too.
  void rest_follows_program(std::function<bool(const std::string&)> is_source);

  [[nodiscard]] const std::deque<Argument>& list() const { return list_; }
  [[nodiscard]] std::vector<std::string>* rest_target() const { return rest_; }
  [[nodiscard]] const std::string& rest_name() const { return rest_name_; }
  [[nodiscard]] const std::string& rest_help() const { return rest_help_; }
  /// Nothing: the rest begins after "--" only.
  [[nodiscard]] const std::function<bool(const std::string&)>& is_source() const {
    return is_source_;
  }

 private:
  template <typename T>
  Argument& add(Argument::Kind kind, std::string name, T& target, std::string help) {
    Argument argument{.kind = kind, .name = std::move(name), .help = std::move(help)};
    argument.store = [&target](const std::string& text) { return store_value(target, text); };
    argument.expected = expected_of(target);
    argument.repeated = is_repeated(target);
    return list_.emplace_back(std::move(argument));
  }

  static std::string expected_of(const std::string&) { return "a value"; }
  static std::string expected_of(const std::filesystem::path&) { return "a path"; }
  static std::string expected_of(const bool&) { return "true or false"; }
  static std::string expected_of(const double&) { return "a number"; }
  static std::string expected_of(const int&) { return "an integer"; }
  static std::string expected_of(const std::int64_t&) { return "an integer"; }
  static std::string expected_of(const std::uint64_t&) { return "an integer, 0 or more"; }
  template <typename T>
  static std::string expected_of(const std::optional<T>&) {
    return expected_of(T{});
  }
  template <typename T>
  static std::string expected_of(const std::vector<T>&) {
    return expected_of(T{});
  }
  template <typename T>
  static constexpr bool is_repeated(const T&) {
    return false;
  }
  template <typename T>
  static constexpr bool is_repeated(const std::vector<T>&) {
    return true;
  }

  std::deque<Argument> list_;  // a deque: `option(...)` hands out references
  std::vector<std::string>* rest_ = nullptr;
  std::string rest_name_;
  std::string rest_help_;
  std::function<bool(const std::string&)> is_source_;
};

}  // namespace cuco::cli

// SPDX-License-Identifier: Apache-2.0
//
// cuco-nvrtc: the compiler of device code, in a process of its own that can be fenced and ended.
//
//   cuco-nvrtc LIBNVRTC SOURCE OUTPUT [OPTION...] [-- KERNEL...]
//
// OUTPUT gets the PTX; "-": none is wanted (a precompiled header is being made). KERNELs are
// instances of templates, as C++ would name them. What the compiler says goes to stderr.
#include <sys/personality.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>

namespace {

struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) =
      nullptr;
  int (*add_name)(Program, const char*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*ptx_size)(Program, std::size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;

  bool load(const char* path) {
    void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::fprintf(stderr, "cuco-nvrtc: %s\n", ::dlerror());  // NOLINT(concurrency-mt-unsafe)
      return false;
    }
    const auto find = [&](const char* name, auto*& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    return find("nvrtcCreateProgram", create) && find("nvrtcAddNameExpression", add_name) &&
           find("nvrtcCompileProgram", compile) && find("nvrtcGetProgramLogSize", log_size) &&
           find("nvrtcGetProgramLog", log) && find("nvrtcGetPTXSize", ptx_size) &&
           find("nvrtcGetPTX", ptx);
  }
};

/// A precompiled header holds addresses: it is of use only to a process that lies in memory as the
/// one did that made it.
void lie_still(char** argv) {
  const int now = ::personality(0xFFFFFFFFU);
  if (now < 0 || (static_cast<unsigned>(now) & ADDR_NO_RANDOMIZE) != 0) return;
  if (::personality(static_cast<unsigned>(now) | ADDR_NO_RANDOMIZE) < 0) return;
  ::execv("/proc/self/exe", argv);
}

int run(const std::vector<const char*>& words) {
  Nvrtc nvrtc;
  if (!nvrtc.load(words[0])) return 3;
  std::ifstream file(words[1], std::ios::binary);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  Nvrtc::Program program = nullptr;
  if (nvrtc.create(&program, source.c_str(), words[1], 0, nullptr, nullptr) != 0) return 3;
  std::vector<const char*> options;
  std::size_t i = 3;
  for (; i < words.size() && std::string_view(words[i]) != "--"; ++i)
    options.push_back(words[i]);
  for (++i; i < words.size(); ++i) {
    if (nvrtc.add_name(program, words[i]) != 0) return 3;
  }
  const int code = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  std::size_t size = 0;
  nvrtc.log_size(program, &size);
  std::string text(size, '\0');
  nvrtc.log(program, text.data());
  std::fputs(text.c_str(), stderr);
  if (code != 0) return 1;
  if (std::string_view(words[2]) == "-") return 0;
  if (nvrtc.ptx_size(program, &size) != 0) return 3;
  text.assign(size, '\0');
  if (nvrtc.ptx(program, text.data()) != 0) return 3;
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
  std::ofstream out(words[2], std::ios::binary);
  out << text;
  return out.flush() ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  lie_still(argv);
  return run({argv + 1, argv + argc});
}

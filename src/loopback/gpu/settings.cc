// SPDX-License-Identifier: Apache-2.0
#include "loopback/gpu/settings.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace cuco::loopback {
namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Settings read_settings() {
  Settings read;
  if (*variable("CUCO_LOOPBACK_RANKS") != 0)
    read.ranks = std::atoi(variable("CUCO_LOOPBACK_RANKS"));
  if (std::atoi(variable("OMPI_COMM_WORLD_SIZE")) > 1) {
    std::fprintf(stderr,
                 "cuco loopback: ranks as processes under mpirun are not supported yet; start them "
                 "as threads of one process, or use --on virtual\n");
    std::_Exit(kCannotRun);
  }
  read.folder = variable("CUCO_LOOPBACK_DIR");
  read.report = variable("CUCO_LOOPBACK_REPORT");
  read.watchdog_seconds = std::atof(variable("CUCO_LOOPBACK_WATCHDOG"));
  read.delay = static_cast<Nanoseconds>(std::atof(variable("CUCO_LOOPBACK_DELAY_US")) * 1000);
  const std::string file = variable("CUCO_LOOPBACK_TOPOLOGY");
  if (file.empty()) return read;
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  std::string problem = file + ": cannot be read";
  if (stream) read.network = parse_network(text.str(), &problem);
  if (!read.network) {
    std::fprintf(stderr, "cuco loopback: %s\n", problem.c_str());
    std::_Exit(kCannotRun);
  }
  if (read.network->gpus() < read.ranks) {
    std::fprintf(stderr, "cuco loopback: topology %s has %d GPUs, the program %d ranks\n",
                 read.network->name.c_str(), read.network->gpus(), read.ranks);
    std::_Exit(kCannotRun);
  }
  return read;
}

}  // namespace

const Settings& settings() {
  static const Settings kSettings = read_settings();
  return kSettings;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += ' ';
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// One write per line: ranks may be processes that share the file.
void write_report(const std::string& line) {
  if (settings().report.empty()) return;
  const int file =
      ::open(settings().report.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  const std::string whole = line + "\n";
  if (::write(file, whole.data(), whole.size()) < 0) std::perror("cuco loopback: report");
  ::close(file);
}

void give_up(const std::string& why, int status) {
  std::fflush(stdout);
  std::fprintf(stderr, "cuco loopback: %s\n", why.c_str());
  write_report("{\"finding\": true, \"text\": " + quoted(why) + "}");
  std::_Exit(status);
}

}  // namespace cuco::loopback

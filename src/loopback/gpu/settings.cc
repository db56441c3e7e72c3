// SPDX-License-Identifier: Apache-2.0
#include "loopback/gpu/settings.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

namespace cuco::loopback {
namespace {

bool is_network = false;
std::function<void(const std::string&, int)> told_before;

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// How an MPI tells a process how many there are, and which one it is.
struct MpiStart {
  const char* size;
  const char* rank;
};

const MpiStart* mpi_start() {
  static constexpr MpiStart kStarts[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                         {"PMI_SIZE", "PMI_RANK"}};
  for (const MpiStart& start : kStarts) {
    if (std::atoi(variable(start.size)) > 1) return &start;
  }
  return nullptr;
}

Settings read_settings() {
  Settings read;
  if (*variable("CUCO_LOOPBACK_RANKS") != 0)
    read.ranks = std::atoi(variable("CUCO_LOOPBACK_RANKS"));
  read.folder = variable("CUCO_LOOPBACK_DIR");
  if (is_network) {
    read.role = Role::Network;
  } else if (const auto* start = mpi_start()) {
    read.role = Role::Rank;
    read.process = std::atoi(variable(start->rank));
  }
  if (read.role != Role::Alone && read.folder.empty()) {
    std::fprintf(stderr,
                 "cuco loopback: ranks that are processes need the network's process: start the "
                 "program with cuco run --on loopback\n");
    std::_Exit(kCannotRun);
  }
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

bool is_one_of_several() {
  return mpi_start() != nullptr;
}

void become_network() {
  is_network = true;
}

const Settings& settings() {
  static const Settings read = read_settings();
  return read;
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

void before_giving_up(std::function<void(const std::string& why, int status)> tell) {
  told_before = std::move(tell);
}

// Who comes second while another ends the program just waits for its end.
void give_up(const std::string& why, int status) {
  static std::atomic<bool> is_ending{false};
  while (is_ending.exchange(true))
    ::pause();
  std::fflush(stdout);
  std::fprintf(stderr, "cuco loopback: %s\n", why.c_str());
  write_report("{\"finding\": true, \"text\": " + quoted(why) + "}");
  if (told_before) told_before(why, status);
  std::_Exit(status);
}

}  // namespace cuco::loopback

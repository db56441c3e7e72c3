// SPDX-License-Identifier: Apache-2.0
#include "run/profile_gpus.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/terminal/terminal.h"

namespace cuco::run {
namespace {

/// How often something was done, and what it took.
struct Sum {
  std::uint64_t times = 0;
  std::uint64_t least_ps = 0;  ///< Of the GPUs that did alike: sums of one of them.
  std::uint64_t most_ps = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t ps, std::uint64_t more_bytes) {
    ++times;
    least_ps += ps;
    most_ps += ps;
    bytes += more_bytes;
  }
};

enum class Sort { Kernel, Collective, Copy, Polling, Put };

/// What one GPU did, or each of several that did alike.
struct Share {
  std::vector<int> devices;
  std::map<std::pair<Sort, std::string>, Sum> sums;
};

std::uint64_t number(const Json& object, const char* name) {
  return object.value(name, std::uint64_t{0});
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

std::uint64_t duration(const Json& object) {
  const std::uint64_t begin = number(object, "started_ps");
  return std::max(number(object, "finished_ps"), begin) - begin;
}

std::string short_time(std::uint64_t picoseconds) {
  return human_seconds(static_cast<double>(picoseconds) * 1e-12);
}

/// "copy of 98304 bytes": 98304.
std::uint64_t bytes_in(const std::string& what) {
  const std::size_t digit = what.find_first_of("0123456789");
  return digit == std::string::npos ? 0 : std::strtoull(what.c_str() + digit, nullptr, 10);
}

/// "ncclAllReduce and 1 more of rank 0 on communicator 1": the same for every rank.
std::string collective_name(const std::string& what) {
  const std::string name = what.substr(0, what.find(" of rank "));
  const std::size_t more = name.find(" and ");
  return more == std::string::npos
             ? name
             : name.substr(0, more) + " (grouped with" + name.substr(more + 4) + ")";
}

std::map<int, Share> shares_of(const Json& report) {
  std::map<int, Share> shares;
  const auto add = [&](int device, Sort sort, const std::string& name, std::uint64_t ps,
                       std::uint64_t bytes) {
    if (device < 0) return;
    shares[device].sums[{sort, name}].add(ps, bytes);
  };
  for (const Json& phase : report.value("phases", Json::array())) {
    const int device = phase.value("device", -1);
    add(device, Sort::Kernel, phase.value("kernel", ""), duration(phase), 0);
    if (const std::uint64_t polled = number(phase, "poll_wait_ps"); polled > 0)
      add(device, Sort::Polling, "", polled, 0);
  }
  for (const Json& work : report.value("works", Json::array())) {
    const std::string what = work.value("what", "");
    const int device = work.value("device", -1);
    if (what.starts_with("nccl")) {
      add(device, Sort::Collective, collective_name(what), duration(work), 0);
    } else if (what.starts_with("copy of ") || what.starts_with("fill of ")) {
      add(device, Sort::Copy, what.substr(0, 4), duration(work), bytes_in(what));
    }
  }
  for (const Json& delivery : report.value("deliveries", Json::array())) {
    if (!delivery.value("is_completion", false))
      add(delivery.value("from", -1), Sort::Put, "", 0, number(delivery, "bytes"));
  }
  for (auto& [device, share] : shares)
    share.devices = {device};
  return shares;
}

/// The same things equally often, with a tenth more or less time: nobody wants to read them twice.
bool did_alike(const Share& a, const Share& b) {
  return std::ranges::equal(a.sums, b.sums, [](const auto& one, const auto& other) {
    const Sum& x = one.second;
    const Sum& y = other.second;
    const std::uint64_t most = std::max(x.most_ps, y.most_ps);
    const std::uint64_t least = std::min(x.least_ps, y.least_ps);
    // Waiting differs from GPU to GPU though they do the same.
    const bool waits = one.first.first == Sort::Collective || one.first.first == Sort::Polling;
    return one.first == other.first && (x.times == y.times || one.first.first == Sort::Polling) &&
           x.bytes == y.bytes && (waits || most - least <= most / 10);
  });
}

void join(Share& all, const Share& one) {
  all.devices.push_back(one.devices.front());
  for (auto& [what, sum] : all.sums) {
    const Sum& other = one.sums.at(what);
    sum.least_ps = std::min(sum.least_ps, other.least_ps);
    sum.most_ps = std::max(sum.most_ps, other.most_ps);
  }
}

std::vector<Share> groups_of(const Json& report) {
  std::vector<Share> groups;
  for (const auto& [device, share] : shares_of(report)) {
    const auto like =
        std::ranges::find_if(groups, [&](const Share& group) { return did_alike(group, share); });
    if (like == groups.end()) {
      groups.push_back(share);
    } else {
      join(*like, share);
    }
  }
  return groups;
}

/// All of one sort, as one sum.
Sum total(const Share& share, Sort sort) {
  Sum all;
  for (const auto& [what, sum] : share.sums) {
    if (what.first != sort) continue;
    all.times += sum.times;
    all.least_ps += sum.least_ps;
    all.most_ps += sum.most_ps;
    all.bytes += sum.bytes;
  }
  return all;
}

std::string share_text(const Share& share) {
  cli::Table table;
  const Sum kernels = total(share, Sort::Kernel);
  table.row({"kernels", kernels.times == 0
                            ? "none"
                            : fmt::format("{}, {}", counted(kernels.times, "launch", "launches"),
                                          time_range(kernels.least_ps, kernels.most_ps))});
  if (const Sum polls = total(share, Sort::Polling); polls.most_ps > 0)
    table.row({"polling", time_range(polls.least_ps, polls.most_ps) + " of warp-time"});
  for (const auto& [what, sum] : share.sums) {
    if (what.first != Sort::Collective) continue;
    table.row({"collective", fmt::format("{}: {}, {}, waiting for other ranks included",
                                         what.second, counted(sum.times, "time", "times"),
                                         time_range(sum.least_ps, sum.most_ps))});
  }
  if (const Sum puts = total(share, Sort::Put); puts.times > 0)
    table.row(
        {"sent by kernels", fmt::format("{}, {}", counted(puts.times, "delivery", "deliveries"),
                                        human_bytes(static_cast<double>(puts.bytes)))});
  if (const Sum copies = total(share, Sort::Copy); copies.times > 0)
    table.row({"copies, fills", fmt::format("{}, {}, {}", copies.times,
                                            human_bytes(static_cast<double>(copies.bytes)),
                                            time_range(copies.least_ps, copies.most_ps))});
  return table.text(2);
}

}  // namespace

std::string name_gpus(const std::vector<int>& devices) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < devices.size();) {
    std::size_t end = i + 1;
    while (end < devices.size() && devices[end] == devices[end - 1] + 1)
      ++end;
    parts.push_back(end - i == 1 ? fmt::format("{}", devices[i])
                                 : fmt::format("{}-{}", devices[i], devices[end - 1]));
    i = end;
  }
  return fmt::format("GPU{} {}", devices.size() == 1 ? "" : "s", cuco::join(parts, ", "));
}

std::string time_range(std::uint64_t least_ps, std::uint64_t most_ps) {
  if (most_ps - least_ps <= most_ps / 100) return short_time((least_ps + most_ps) / 2);
  return fmt::format("{} to {}", short_time(least_ps), short_time(most_ps));
}

std::string kernel_time_text(const Json& report, const std::string& kernel) {
  std::map<int, std::uint64_t> on_device;
  std::set<int> all;
  for (const Json& phase : report.value("phases", Json::array())) {
    const int device = phase.value("device", 0);
    all.insert(device);
    if (phase.value("kernel", "") == kernel) on_device[device] += duration(phase);
  }
  if (on_device.empty()) return "";
  std::vector<int> devices;
  std::uint64_t least = on_device.begin()->second;
  std::uint64_t most = 0;
  for (const auto& [device, time] : on_device) {
    devices.push_back(device);
    least = std::min(least, time);
    most = std::max(most, time);
  }
  const std::string text = time_range(least, most) + " predicted";
  if (all.size() == 1) return text;
  return fmt::format("{} on {}{}", text, devices.size() == 1 ? "" : "each of ", name_gpus(devices));
}

std::string gpus_text(const Json& report) {
  std::string out;
  const std::vector<Share> groups = groups_of(report);
  std::size_t gpus = 0;
  for (const Share& group : groups) {
    gpus += group.devices.size();
    out += fmt::format("{}{}\n{}\n", name_gpus(group.devices),
                       group.devices.size() == 1 ? "" : ", each of them", share_text(group));
  }
  if (gpus < 2) return out;
  const std::uint64_t transfers = number(report, "transfers");
  const double carried = report.value("wire_bytes", 0.0);
  if (transfers == 0 && carried <= 0) return out + "links  nothing was sent between GPUs\n\n";
  return out + fmt::format(
                   "links  {} carried between GPUs, in {} and in what kernels load and "
                   "store there\n\n",
                   human_bytes(carried),
                   counted(transfers, "collective or transfer", "collectives and transfers"));
}

}  // namespace cuco::run

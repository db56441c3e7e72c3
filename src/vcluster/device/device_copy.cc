// SPDX-License-Identifier: Apache-2.0
#include "vcluster/device/device_copy.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "shims/wire/status.h"
#include "vcluster/device/devices.h"
#include "vcluster/device/kernel_launch.h"
#include "vcluster/host/processes.h"
#include "vcluster/host/sessions.h"
#include "vcluster/watch/block_trace.h"
#include "vcluster/watch/run_check.h"
#include "vgpu/memory/address_map.h"

namespace cuco::vcluster {
namespace {

/// Rows of a box of memory.
template <typename F>
void for_rows(std::uint64_t height, std::uint64_t depth, const F& each) {
  for (std::uint64_t z = 0; z < depth; ++z) {
    for (std::uint64_t y = 0; y < height; ++y)
      each(z, y);
  }
}

/// Within a GPU, copies and fills are kernels of the driver's: this long after `start` (see
/// kernel_begin) all is read and written. `accesses`: how often a byte on its way waits for memory.
VTime kernel_time(const vgpu::Gpu& gpu, const vgpu::Gpu::Sweep& sweep, unsigned accesses) {
  const hardware::GpuDescription& description = gpu.description();
  const double cycles = description.block_start_cycles + accesses * description.hbm_latency;
  return static_cast<VTime>(description.launch_us * vgpu::kMicrosecond +
                            cycles / description.clock_ghz * vgpu::kNanosecond) +
         std::max(sweep.l2, sweep.hbm);
}

VTime end_on_device(const OperationParts& parts,
                    const CopyOperation& copy,
                    int device,
                    const Work& work) {
  vgpu::Gpu& gpu = parts.devices.gpu(device);
  vgpu::Gpu::Sweep sum;
  for_rows(copy.height, copy.depth, [&](std::uint64_t z, std::uint64_t y) {
    for (const bool store : {false, true}) {
      const wire::CopyEnd& end = store ? copy.to : copy.from;
      const auto one = gpu.sweep(end.address + z * end.slice + y * end.pitch, copy.width, store);
      sum.l2 += one.l2;
      sum.hbm += one.hbm;
    }
  });
  return kernel_begin(gpu, work, parts.timeline.now()) + kernel_time(gpu, sum, 2);
}

VTime time_of_copy(const OperationParts& parts, const CopyOperation& copy, const Work& work) {
  constexpr double kHostGigabytesPerSecond = 20;
  const VTime start = parts.timeline.now();
  const auto from = device_of(parts.devices, copy.from);
  const auto to = device_of(parts.devices, copy.to);
  const std::uint64_t bytes = copy.bytes();
  if (from && to && *from == *to) return end_on_device(parts, copy, *from, work);
  if (from && to) {
    return parts.devices.fabric()
        .transfer(parts.devices.fabric().route(*from, *to), *from, *to, bytes, start)
        .arrival;
  }
  if (to) return parts.devices.fabric().host_copy(*to, true, bytes, start);
  if (from) return parts.devices.fabric().host_copy(*from, false, bytes, start);
  return start + fabric::serialisation_time(static_cast<double>(bytes), kHostGigabytesPerSecond);
}

VTime end_of_copy(const OperationParts& parts, const CopyOperation& copy, const Work& work) {
  return time_of_copy(parts, copy, work) + parts.devices.adversary().copy_delay();
}

struct Place {
  std::byte* at = nullptr;
  std::uint64_t pitch = 0;
  std::uint64_t slice = 0;
};

void move_rows(const CopyOperation& copy, const Place& to, const Place& from) {
  const bool packed =
      (copy.height == 1 && copy.depth == 1) ||
      (to.pitch == copy.width && from.pitch == copy.width &&
       (copy.depth == 1 || (to.slice == copy.width * copy.height && from.slice == to.slice)));
  if (packed) {
    std::memmove(to.at, from.at, copy.bytes());
    return;
  }
  for (std::uint64_t z = 0; z < copy.depth; ++z) {
    for (std::uint64_t y = 0; y < copy.height; ++y) {
      std::memmove(to.at + z * to.slice + y * to.pitch, from.at + z * from.slice + y * from.pitch,
                   copy.width);
    }
  }
}

void notify_rows(const OperationParts& parts, const CopyOperation& copy) {
  if (copy.to.where != wire::CopyEnd::kServer) return;
  for (std::uint64_t z = 0; z < copy.depth; ++z) {
    for (std::uint64_t y = 0; y < copy.height; ++y) {
      parts.devices.memory().notify_write(copy.to.address + z * copy.to.slice + y * copy.to.pitch,
                                          copy.width, parts.timeline.now());
    }
  }
}

/// From the first byte to the last.
std::uint64_t extent_of(const CopyOperation& copy, const wire::CopyEnd& end) {
  return (copy.depth - 1) * end.slice + (copy.height - 1) * end.pitch + copy.width;
}

/// Where one end lies in the server now; null if what it was in is gone.
Place resolve(const OperationParts& parts,
              const CopyOperation& copy,
              const wire::CopyEnd& end,
              std::span<std::byte> service_bounce) {
  switch (end.where) {
    case wire::CopyEnd::kServer: {
      if (!parts.devices.memory().valid(end.address, extent_of(copy, end))) return {};
      return {vgpu::Memory::at(end.address), end.pitch, end.slice};
    }
    case wire::CopyEnd::kBounce: {
      if (copy.staged != nullptr) {
        // Only ever read.
        return {const_cast<std::byte*>(copy.staged->data()), copy.width, copy.width * copy.height};
      }
      const Session* session = parts.sessions.find(copy.session);
      if (session == nullptr || session->bounce().size() < end.address + copy.bytes()) return {};
      return {session->bounce().data() + end.address, copy.width, copy.width * copy.height};
    }
    case wire::CopyEnd::kHost:
      if (service_bounce.size() < copy.bytes()) return {};
      return {service_bounce.data(), copy.width, copy.width * copy.height};
  }
  return {};
}

/// What a copy or a fill reads or writes on devices, row by row.
std::vector<ByteRange> rows_of(const OperationParts& parts,
                               const CopyOperation& copy,
                               const wire::CopyEnd& end) {
  std::vector<ByteRange> rows;
  if (!device_of(parts.devices, end)) return rows;
  for_rows(copy.height, copy.depth, [&](std::uint64_t z, std::uint64_t y) {
    const std::uint64_t begin = end.address + z * end.slice + y * end.pitch;
    rows.push_back({begin, begin + copy.width});
  });
  return merged(std::move(rows));
}

void trace_copy(const OperationParts& parts,
                const Context& context,
                const CopyOperation& copy,
                const Work& work,
                VTime finished) {
  if (parts.trace == nullptr) return;
  parts.trace->add(work, {.kind = "copy",
                          .name = "copy",
                          .device = context.device,
                          .started = work.started_at,
                          .finished = finished,
                          .read = rows_of(parts, copy, copy.from),
                          .written = rows_of(parts, copy, copy.to)});
}

void trace_fill(const OperationParts& parts,
                const Context& context,
                const FillOperation& fill,
                const Work& work) {
  if (parts.trace == nullptr) return;
  std::vector<ByteRange> rows;
  for_rows(fill.height, fill.depth, [&](std::uint64_t z, std::uint64_t y) {
    const std::uint64_t begin = fill.address + z * fill.slice + y * fill.pitch;
    rows.push_back({begin, begin + fill.width * fill.element_bytes});
  });
  parts.trace->add(work, {.kind = "fill",
                          .name = "fill",
                          .device = context.device,
                          .started = work.started_at,
                          .finished = parts.timeline.now(),
                          .read = {},
                          .written = merged(std::move(rows))});
}

/// What the host got: it is the same under every schedule, or the program depends on one.
void log_copy(const OperationParts& parts, int device, const CopyOperation& copy, const Place& to) {
  std::vector<std::byte> packed(copy.bytes());
  move_rows(copy, {packed.data(), copy.width, copy.width * copy.height}, to);
  CopyEntry entry;
  entry.copy.device = device;
  entry.call = copy.call;
  entry.thread = copy.session;
  if (const WrittenTypes* types = parts.devices.written_types()) {
    entry.written =
        types->of(parts.devices.memory().canonical(copy.from.address), extent_of(copy, copy.from));
    entry.anywhere = types->anywhere();
  }
  parts.devices.copy_log()->add(entry, packed);
}

/// What a copy between devices carries is there what it was here.
void carry_types(const OperationParts& parts, const CopyOperation& copy) {
  WrittenTypes* types = parts.devices.written_types();
  if (types == nullptr || !device_of(parts.devices, copy.from) ||
      !device_of(parts.devices, copy.to))
    return;
  const vgpu::Memory& memory = parts.devices.memory();
  for (std::uint64_t row = 0; row < copy.height * copy.depth; ++row) {
    const auto at = [&](const wire::CopyEnd& end) {
      return memory.canonical(end.address + row / copy.height * end.slice +
                              row % copy.height * end.pitch);
    };
    types->note_copy(at(copy.to), at(copy.from), copy.width);
  }
}

/// The host keeps what its device gets: what it computes from its data is of the same data then.
void vary_rows(const OperationParts& parts, const CopyOperation& copy, const Place& from) {
  for_rows(copy.height, copy.depth, [&](std::uint64_t z, std::uint64_t y) {
    parts.devices.varied_inputs()->apply({from.at + z * from.slice + y * from.pitch, copy.width});
  });
}

void move_bytes(const OperationParts& parts,
                const CopyOperation& copy,
                std::span<std::byte> service_bounce = {}) {
  const Place to = resolve(parts, copy, copy.to, service_bounce);
  const Place from = resolve(parts, copy, copy.from, service_bounce);
  if (to.at == nullptr || from.at == nullptr) return;
  if (copy.is_input && copy.from.where != wire::CopyEnd::kBounce) vary_rows(parts, copy, from);
  move_rows(copy, to, from);
  notify_rows(parts, copy);
  carry_types(parts, copy);
  if (parts.devices.copy_log() == nullptr) return;
  const auto device = device_of(parts.devices, copy.from);
  if (device && !device_of(parts.devices, copy.to)) log_copy(parts, *device, copy, to);
}

ServiceJob host_job(const CopyOperation& copy,
                    const wire::CopyEnd& end,
                    wire::NextService::Kind kind) {
  ServiceJob job;
  job.request.kind = kind;
  job.request.argument = end.address;
  job.request.pitch = end.pitch;
  job.request.slice = end.slice;
  job.request.width = copy.width;
  job.request.height = copy.height;
  job.request.depth = copy.depth;
  return job;
}

/// Pageable memory, reached by the process's own service thread: it packs the rows into its bounce
/// buffer, or unpacks them from it.
void start_host_copy(const OperationParts& parts,
                     Context& context,
                     const CopyOperation& copy,
                     const WorkPtr& work) {
  Process& process = *context.process;
  const bool reads = copy.from.where == wire::CopyEnd::kHost;
  const wire::CopyEnd& end = reads ? copy.from : copy.to;
  const VTime arrival = end_of_copy(parts, copy, *work);
  const auto finish = [&parts, &context, copy, work, arrival](Session&) {
    if (parts.check != nullptr) parts.check->on_copy(*work, context, copy);
    trace_copy(parts, context, copy, *work, std::max(arrival, parts.timeline.now()));
    parts.works.finish(work, arrival);
  };
  if (reads) {
    ServiceJob job = host_job(copy, end, wire::NextService::kReadHost);
    job.done = [&parts, copy, finish](Session& service) {
      move_bytes(parts, copy, service.bounce());
      finish(service);
    };
    parts.processes.ask(process, std::move(job));
    return;
  }
  // The buffer has to be large enough before the server can fill it.
  ServiceJob grow = host_job(copy, end, wire::NextService::kGrowBounce);
  grow.done = [&parts, &process, copy, end, finish](Session&) {
    ServiceJob job = host_job(copy, end, wire::NextService::kWriteHost);
    job.prepare = [&parts, copy](Session& service) { move_bytes(parts, copy, service.bounce()); };
    job.done = finish;
    parts.processes.ask(process, std::move(job));
  };
  parts.processes.ask(process, std::move(grow));
}

void fill_row(std::byte* at, const FillOperation& fill) {
  if (fill.element_bytes == 1) {
    std::memset(at, static_cast<int>(fill.value & 0xFFU), fill.width);
    return;
  }
  for (std::uint64_t x = 0; x < fill.width; ++x) {
    std::memcpy(at + x * fill.element_bytes, &fill.value, fill.element_bytes);
  }
}

void fill_bytes(const OperationParts& parts, const FillOperation& fill) {
  for (std::uint64_t z = 0; z < fill.depth; ++z) {
    for (std::uint64_t y = 0; y < fill.height; ++y) {
      const std::uint64_t address = fill.address + z * fill.slice + y * fill.pitch;
      const std::uint64_t bytes = fill.width * fill.element_bytes;
      if (!parts.devices.memory().valid(address, bytes)) return;
      fill_row(vgpu::Memory::at(address), fill);
      parts.devices.memory().notify_write(address, bytes, parts.timeline.now());
    }
  }
}

VTime end_of_fill(const OperationParts& parts,
                  const Context& context,
                  const FillOperation& fill,
                  const Work& work) {
  vgpu::Gpu& gpu = parts.devices.gpu(context.device);
  vgpu::Gpu::Sweep sum;
  for_rows(fill.height, fill.depth, [&](std::uint64_t z, std::uint64_t y) {
    const auto one = gpu.sweep(fill.address + z * fill.slice + y * fill.pitch,
                               fill.width * fill.element_bytes, true);
    sum.l2 += one.l2;
    sum.hbm += one.hbm;
  });
  return kernel_begin(gpu, work, parts.timeline.now()) + kernel_time(gpu, sum, 1);
}

}  // namespace

std::optional<int> device_of(const Devices& devices, const wire::CopyEnd& end) {
  if (end.where != wire::CopyEnd::kServer || end.address >= vgpu::kHostBase) return std::nullopt;
  const vgpu::Granule& granule = devices.memory().granule(end.address);
  if (granule.owner == vgpu::kHostOwner) return std::nullopt;
  return granule.owner;
}

WorkPtr make_copy_work(const OperationParts& parts, Context& context, CopyOperation copy) {
  std::string what = fmt::format("copy of {} bytes", copy.bytes());
  if (CopyLog* log = parts.devices.copy_log()) copy.call = log->next_call();
  return WorkGraph::make(
      std::move(what), [&parts, &context, copy = std::move(copy)](const WorkPtr& work) {
        if (context.error != 0 || copy.bytes() == 0) {
          return parts.works.finish(work, parts.timeline.now());
        }
        if (device_of(parts.devices, copy.from) && !device_of(parts.devices, copy.to)) {
          context.process->copied_to_host += copy.bytes();
        }
        if (copy.from.where == wire::CopyEnd::kHost || copy.to.where == wire::CopyEnd::kHost) {
          return start_host_copy(parts, context, copy, work);
        }
        const VTime end = end_of_copy(parts, copy, *work);
        parts.timeline.at(end, [&parts, &context, copy, work] {
          move_bytes(parts, copy);
          if (parts.check != nullptr) parts.check->on_copy(*work, context, copy);
          trace_copy(parts, context, copy, *work, parts.timeline.now());
          parts.works.finish(work, parts.timeline.now());
        });
      });
}

WorkPtr make_fill_work(const OperationParts& parts, Context& context, FillOperation fill) {
  std::string what = fmt::format("fill of {} bytes", fill.bytes());
  return WorkGraph::make(std::move(what), [&parts, &context, fill](const WorkPtr& work) {
    const VTime now = parts.timeline.now();
    if (context.error != 0) return parts.works.finish(work, now);
    const VTime end = end_of_fill(parts, context, fill, *work);
    parts.timeline.at(end, [&parts, &context, fill, work] {
      fill_bytes(parts, fill);
      if (parts.check != nullptr) parts.check->on_fill(*work, context, fill);
      trace_fill(parts, context, fill, *work);
      parts.works.finish(work, parts.timeline.now());
    });
  });
}

}  // namespace cuco::vcluster

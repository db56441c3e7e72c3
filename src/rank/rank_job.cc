// SPDX-License-Identifier: Apache-2.0
#include "rank/rank_job.h"

#include <algorithm>

namespace cuco::rank {
namespace {

constexpr std::size_t kBufferAlignment = 4096;

template <typename T>
void append_list(std::vector<std::byte>& out, const std::vector<T>& values) {
  wire::append(out, static_cast<std::uint64_t>(values.size()));
  for (const T value : values)
    wire::append(out, static_cast<std::uint64_t>(value));
}

/// Takes words from the front of a message.
class Words {
 public:
  explicit Words(wire::Bytes bytes) : left_(bytes) {}

  std::uint64_t next() {
    const auto word = wire::read_front<std::uint64_t>(left_);
    if (!word) {
      is_short_ = true;
      return 0;
    }
    left_ = left_.subspan(sizeof(*word));
    return *word;
  }

  template <typename T>
  void list(std::vector<T>& values) {
    const std::uint64_t count = std::min<std::uint64_t>(next(), left_.size() / 8);
    for (std::uint64_t i = 0; i < count; ++i)
      values.push_back(static_cast<T>(next()));
  }

  [[nodiscard]] bool is_short() const { return is_short_; }

 private:
  wire::Bytes left_;
  bool is_short_ = false;
};

}  // namespace

std::vector<std::byte> encode_rank_job(const RankJob& job) {
  std::vector<std::byte> out(job.unique_id.begin(), job.unique_id.end());
  wire::append(out, static_cast<std::uint64_t>(job.ranks));
  wire::append(out, static_cast<std::uint64_t>(job.sets));
  append_list(out, job.params);
  append_list(out, job.input_bytes);
  append_list(out, job.output_bytes);
  return out;
}

std::optional<RankJob> decode_rank_job(wire::Bytes bytes) {
  if (bytes.size() < kUniqueIdBytes) return std::nullopt;
  RankJob job;
  std::copy_n(bytes.begin(), kUniqueIdBytes, job.unique_id.begin());
  Words words(bytes.subspan(kUniqueIdBytes));
  job.ranks = static_cast<int>(words.next());
  job.sets = static_cast<int>(words.next());
  words.list(job.params);
  words.list(job.input_bytes);
  words.list(job.output_bytes);
  if (words.is_short()) return std::nullopt;
  return job;
}

RankLayout lay_out(const RankJob& job) {
  RankLayout layout;
  for (const auto* sizes : {&job.input_bytes, &job.output_bytes}) {
    for (int set = 0; set < job.sets; ++set) {
      for (const std::size_t bytes : *sizes) {
        layout.offsets.push_back(layout.bytes);
        layout.bytes +=
            (bytes + kGuardBytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
      }
    }
  }
  return layout;
}

}  // namespace cuco::rank

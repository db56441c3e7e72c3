// SPDX-License-Identifier: Apache-2.0
// Runs every conformance case on the virtual GPU and compares with what an H200 answered.
//
// Each case is a test of its own: Conformance.add_s32. Expected values come from records/ alone; a
// case that was changed since it was recorded fails as "not recorded".
#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "conformance/case.h"
#include "hardware/gpu_description.h"
#include "support/ptx_harness.h"
#include "vgpu/gpu/trap.h"
#include "vgpu/numbers/formats.h"

namespace cuco::conformance {
namespace {

struct Record {
  std::uint64_t hash = 0;
  std::string status;
  std::string output;  ///< Decoded.
};

std::string decode_base64(std::string_view text) {
  std::string out;
  unsigned bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    unsigned digit = 0;
    if (c >= 'A' && c <= 'Z')
      digit = static_cast<unsigned>(c - 'A');
    else if (c >= 'a' && c <= 'z')
      digit = static_cast<unsigned>(c - 'a' + 26);
    else if (c >= '0' && c <= '9')
      digit = static_cast<unsigned>(c - '0' + 52);
    else if (c == '+')
      digit = 62;
    else if (c == '/')
      digit = 63;
    else
      break;
    bits = bits << 6U | digit;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xFFU));
  }
  return out;
}

std::map<std::string, Record> read_records(const std::string& path) {
  std::map<std::string, Record> records;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    std::string hash;
    std::string data;
    Record record;
    words >> name >> hash >> record.status >> data;
    record.hash = std::stoull(hash, nullptr, 16);
    if (data != "-") record.output = decode_base64(data);
    records[name] = std::move(record);
  }
  return records;
}

/// Bits to a number whose differences count units in the last place.
std::int64_t ordered(std::uint64_t bits, unsigned width) {
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

struct Comparer {
  unsigned bytes = 4;
  vgpu::Format format = vgpu::kF32;

  [[nodiscard]] double value(std::uint64_t bits) const {
    if (bytes == 8) return std::bit_cast<double>(bits);
    if (bytes == 4)
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    const vgpu::Exact exact = vgpu::decode(bits, format);
    const double magnitude = std::ldexp(static_cast<double>(exact.significand), exact.exponent);
    return exact.negative ? -magnitude : magnitude;
  }
  [[nodiscard]] bool is_nan(std::uint64_t bits) const {
    return (bits & (format.sign() - 1)) > format.infinity();
  }
  /// NaNs are all alike; otherwise within the ulps, or the absolute bound.
  [[nodiscard]] bool accepts(const Case& c, std::uint64_t got, std::uint64_t want) const {
    if (is_nan(got) || is_nan(want)) return is_nan(got) && is_nan(want);
    const std::int64_t distance = ordered(got, 8 * bytes) - ordered(want, 8 * bytes);
    if (static_cast<std::uint64_t>(distance < 0 ? -distance : distance) <= c.ulp) return true;
    return std::fabs(value(got) - value(want)) <= c.absolute;
  }
};

std::string compare(const Case& c, const std::string& got, const std::string& want) {
  Comparer comparer{4, vgpu::Format{8, 23}};
  const bool by_bits = c.compare == "bits";
  if (c.compare == "f64") comparer = {8, vgpu::kF64};
  if (c.compare == "f16") comparer = {2, vgpu::kF16};
  if (c.compare == "bf16") comparer = {2, vgpu::kBf16};
  if (got.size() != want.size()) return "the record has another size";
  const std::size_t step = by_bits ? std::min<std::size_t>(4, got.size()) : comparer.bytes;
  std::size_t wrong = 0;
  std::ostringstream report;
  for (std::size_t i = 0; i + step <= got.size(); i += step) {
    std::uint64_t g = 0;
    std::uint64_t w = 0;
    std::copy_n(got.data() + i, step, reinterpret_cast<char*>(&g));
    std::copy_n(want.data() + i, step, reinterpret_cast<char*>(&w));
    if (by_bits ? g == w : comparer.accepts(c, g, w)) continue;
    if (++wrong > 6) continue;
    report << "  [" << std::dec << i / step << "] got " << std::hex << g << ", H200 " << w << "\n";
  }
  if (wrong == 0) return "";
  return std::to_string(wrong) + " of " + std::to_string(got.size() / step) + " differ\n" +
         report.str();
}

class ConformanceCase : public testing::Test {
 public:
  ConformanceCase(std::string path, const std::map<std::string, Record>& records)
      : path_(std::move(path)), records_(records) {}

  void TestBody() override {
    std::ifstream file(path_);
    const Case c = parse_case(std::filesystem::path(path_).stem(),
                              std::string(std::istreambuf_iterator<char>(file), {}));
    const auto record = records_.find(c.name);
    ASSERT_TRUE(record != records_.end() && record->second.hash == c.hash) << "not recorded";
    const auto description = hardware::load_gpu_description("h200", CUCO_SOURCE_DIR);
    ASSERT_TRUE(description) << description.error().message();
    auto harness = vgpu::Harness::load(c.ptx, *description);
    ASSERT_TRUE(harness) << harness.error().message();
    std::vector<std::uint64_t> input = make_input(c);
    input.resize(input.size() + 8);
    const vgpu::Address in = (*harness)->upload(std::span<const std::uint64_t>(input));
    const std::vector<char> filled(c.out_bytes + 256, static_cast<char>(c.fill));
    const vgpu::Address out = (*harness)->upload(std::span<const char>(filled));
    vgpu::HarnessLaunch launch;
    launch.grid = c.grid;
    launch.block = c.block;
    launch.dynamic_shared = c.smem;
    const auto result = (*harness)->run("test", launch, in, out, c.n);
    ASSERT_TRUE(result) << result.error().message();
    for (const std::string& line : result->deadlock)
      ADD_FAILURE() << line;
    const bool faulted = record->second.status.rfind("fault", 0) == 0;
    if (result->grid.trap && !faulted) FAIL() << vgpu::to_string(*result->grid.trap);
    ASSERT_EQ(result->grid.trap.has_value(), faulted) << record->second.status;
    if (faulted || c.compare == "skip" || HasFailure()) return;
    const std::vector<char> bytes = (*harness)->download<char>(out, c.out_bytes);
    const std::string difference =
        compare(c, std::string(bytes.begin(), bytes.end()), record->second.output);
    EXPECT_EQ(difference, "") << c.ptx.substr(0, c.ptx.find(".version"));
  }

 private:
  std::string path_;
  const std::map<std::string, Record>& records_;
};

}  // namespace
}  // namespace cuco::conformance

int main(int argc, char** argv) {
  using namespace cuco::conformance;
  testing::InitGoogleTest(&argc, argv);
  const auto records = read_records(CUCO_SOURCE_DIR "/tests/conformance/records/h200.txt");
  for (const auto& entry : std::filesystem::directory_iterator(CUCO_CONFORMANCE_CASES)) {
    const std::string path = entry.path();
    testing::RegisterTest("Conformance", entry.path().stem().c_str(), nullptr, nullptr,
                          path.c_str(), 1,
                          [path, &records] { return new ConformanceCase(path, records); });
  }
  return RUN_ALL_TESTS();
}

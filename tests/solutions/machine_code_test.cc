// SPDX-License-Identifier: Apache-2.0
// What nvcc and NVRTC make of texts that differ: told apart where it is not the same, on either
// half, and only there.
#include "toolchain/machine_code.h"

#include <string>

#include <gtest/gtest.h>

#include "toolchain/object_builder.h"

namespace cuco::toolchain {
namespace {

class MachineCodes : public testing::Test {
 protected:
  void SetUp() override {
    const auto text =
        system::read_file(system::Path(CUCO_SOURCE_DIR) / "workloads/silu_and_mul/program.cu");
    ASSERT_TRUE(text) << text.error().message();
    seed = *text;
    auto made = system::TempFolder::create("cuco_machine_code");
    ASSERT_TRUE(made) << made.error().message();
    folder.emplace(*std::move(made));
  }

  MachineCode code(const std::string& text, bool device_only = false) {
    BuildSettings settings;
    settings.cache = folder->path() / "builds";
    settings.tier = system::Tier::Own;
    settings.architecture = "90";
    settings.device_only = device_only;
    const auto built = build_candidate(text, settings);
    EXPECT_TRUE(built) << built.error().message();
    const auto* path = built ? std::get_if<system::Path>(&*built) : nullptr;
    EXPECT_NE(path, nullptr);
    if (path == nullptr) return {};
    const auto known = machine_code_of(*path);
    EXPECT_TRUE(known) << path->string();
    return known.value_or(MachineCode{});
  }
  static std::string with(std::string text, std::string_view from, std::string_view to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  }

  std::string seed;
  std::optional<system::TempFolder> folder;
};

TEST_F(MachineCodes, IsTheSameForOtherNamesAndOtherwiseForOtherCode) {
  const MachineCode first = code(seed);
  EXPECT_FALSE(first.device.empty());
  const std::string renamed = with("// one more line\n" + seed, "gate", "g_0");
  EXPECT_EQ(code(renamed).device, first.device);
  EXPECT_EQ(code(renamed).host, first.host);
  EXPECT_EQ(code(renamed + "// and another\n", true), first) << "by NVRTC, or nvcc -ptx";

  const MachineCode other_kernel = code(with(seed, "1.0f +", "2.0f +"));
  EXPECT_NE(other_kernel.device, first.device);
  EXPECT_EQ(other_kernel.host, first.host);

  // Graph replay and launch geometry change the host alone.
  const MachineCode other_launch = code(with(seed, ", 256, 0,", ", 128, 0,"));
  EXPECT_EQ(other_launch.device, first.device);
  EXPECT_NE(other_launch.host, first.host);
}

TEST(MachineCodeRecord, IsNotThereForObjectsOfOlderVersions) {
  EXPECT_EQ(machine_code_of("/no/such/object.so"), std::nullopt);
  EXPECT_EQ(machine_code("", {}), std::nullopt);
}

}  // namespace
}  // namespace cuco::toolchain

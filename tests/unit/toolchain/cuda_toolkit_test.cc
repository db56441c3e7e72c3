// SPDX-License-Identifier: Apache-2.0
#include "toolchain/cuda_toolkit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace cuco::toolchain {
namespace {

/// A machine with nothing but what the test puts there.
class CudaFinder : public testing::Test {
 protected:
  system::Path make_toolkit(const system::Path& relative) {
    const system::Path root = folder_.path() / relative;
    EXPECT_TRUE(system::make_folder(root / "bin"));
    EXPECT_TRUE(system::write_file(root / "bin/nvcc", "#!/bin/sh\n", 0755));
    return root;
  }
  Result<CudaToolkit> find() const { return find_cuda(environment_, folder_.path() / "local"); }

  system::TempFolder folder_ = *system::TempFolder::create("cuda-finder");
  system::Environment environment_;
};

TEST_F(CudaFinder, HomeWinsOverPathVariableAndPath) {
  const auto home = make_toolkit("home");
  const auto path_variable = make_toolkit("path_variable");
  const auto on_path = make_toolkit("on_path");
  make_toolkit("local/cuda");
  environment_.set("PATH", (on_path / "bin").string());
  EXPECT_EQ(find()->root, on_path);
  environment_.set("CUDA_PATH", path_variable.string());
  EXPECT_EQ(find()->root, path_variable);
  environment_.set("CUDA_HOME", home.string());
  EXPECT_EQ(find()->root, home);
  EXPECT_EQ(find()->nvcc(), home / "bin/nvcc");
}

TEST_F(CudaFinder, WrongVariableIsAnErrorThatNamesIt) {
  make_toolkit("local/cuda");
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    environment_.set(name, "/no/such/cuda");
    const auto found = find();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind(), ErrorKind::Unavailable);
    EXPECT_NE(found.error().message().find(name), std::string::npos) << found.error().message();
    EXPECT_NE(found.error().message().find("/no/such/cuda"), std::string::npos);
  }
  // An empty one is as good as none.
  environment_.set("CUDA_HOME", "").set("CUDA_PATH", "");
  EXPECT_TRUE(find());
}

TEST_F(CudaFinder, ResolvesNvccOnPath) {
  const auto root = make_toolkit("real/cuda-13.0");
  std::filesystem::create_directories(folder_.path() / "links");
  std::filesystem::create_symlink(root / "bin/nvcc", folder_.path() / "links/nvcc");
  environment_.set("PATH", (folder_.path() / "links").string());
  EXPECT_EQ(find()->root, std::filesystem::canonical(root));
}

TEST_F(CudaFinder, AsksAScriptOnPathWhichToolkitItCalls) {
  const auto root = make_toolkit("real/cuda-13.0");
  const auto scripts = make_toolkit("scripts");
  const auto says = fmt::format("#!/bin/sh\necho '#$ TOP={}/bin/..' >&2\n", root.string());
  ASSERT_TRUE(system::write_file(scripts / "bin/nvcc", says, 0755));
  environment_.set("PATH", (scripts / "bin").string());
  EXPECT_EQ(find()->root, std::filesystem::canonical(root));
  // One that stands in a toolkit is not asked.
  ASSERT_TRUE(system::make_folder(scripts / "include"));
  ASSERT_TRUE(system::write_file(scripts / "include/cuda.h", ""));
  EXPECT_EQ(find()->root, std::filesystem::canonical(scripts));
}

TEST_F(CudaFinder, UsualFolderThenTheNewestVersion) {
  make_toolkit("local/cuda-12.8");
  const auto newest = make_toolkit("local/cuda-13.10");
  make_toolkit("local/cuda-13.9");
  std::filesystem::create_directories(folder_.path() / "local/cuda-14.0");  // without nvcc
  EXPECT_EQ(find()->root, newest);
  const auto usual = make_toolkit("local/cuda");
  EXPECT_EQ(find()->root, usual);
}

TEST_F(CudaFinder, NothingFoundSaysWhatToDo) {
  const auto found = find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind(), ErrorKind::Unavailable);
  EXPECT_NE(found.error().message().find("CUDA_HOME"), std::string::npos);
}

TEST_F(CudaFinder, NcclOfTheToolkitNeedsNoFlagAndOneElsewhereDoes) {
  const auto root = make_toolkit("local/cuda");
  ASSERT_TRUE(system::make_folder(root / "include"));
  ASSERT_TRUE(system::write_file(root / "include/nccl.h", ""));
  EXPECT_EQ(find()->nccl_include, root / "include");
  EXPECT_TRUE(find()->nccl_flags().empty());

  const auto nccl = folder_.path() / "nccl";
  ASSERT_TRUE(system::make_folder(nccl / "include"));
  ASSERT_TRUE(system::write_file(nccl / "include/nccl.h", ""));
  environment_.set("NCCL_HOME", nccl.string());
  EXPECT_EQ(find()->nccl_include, nccl / "include");
  EXPECT_EQ(find()->nccl_flags(), std::vector{"-I" + (nccl / "include").string()});
}

TEST_F(CudaFinder, FindsNvrtcBesideIt) {
  const auto root = make_toolkit("local/cuda");
  EXPECT_FALSE(find()->nvrtc());
  ASSERT_TRUE(system::make_folder(root / "lib64"));
  ASSERT_TRUE(system::write_file(root / "lib64/libnvrtc.so", ""));
  EXPECT_EQ(find()->nvrtc(), root / "lib64/libnvrtc.so");
}

}  // namespace
}  // namespace cuco::toolchain

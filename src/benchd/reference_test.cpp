#include "benchd/reference.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace assay::benchd {
namespace {

namespace fs = std::filesystem;

class ReferenceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "assay-reference-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = fs::canonical(name);
    root_ = top_ / "candidate";
    workspace_ = top_ / "reference";
    fs::create_directories(root_ / "bin");
    fs::create_directories(workspace_ / "bin");
    executable(root_ / "bin" / "engine");
    executable(workspace_ / "bin" / "engine");
  }
  void TearDown() override { fs::remove_all(top_); }
  static void executable(const fs::path& path) {
    std::ofstream(path) << "#!/bin/sh\n";
    ::chmod(path.c_str(), 0755);
  }
  std::string engine_refusal(const fs::path& engine) {
    const auto found = reference_engine(engine, root_, workspace_);
    return found ? "" : std::string(found.refusal().code);
  }
  std::string weights_refusal(const fs::path& weights) {
    const auto found = reference_weights(weights, root_, workspace_);
    return found ? "" : std::string(found.refusal().code);
  }
  fs::path top_, root_, workspace_;
};

TEST_F(ReferenceTest, TheEngineIsFoundAtTheSamePlace) {
  EXPECT_EQ(*reference_engine("bin/engine", root_, workspace_), workspace_ / "bin/engine");
  EXPECT_EQ(*reference_engine("./bin/engine", root_, workspace_), workspace_ / "bin/engine");
  EXPECT_EQ(*reference_engine(root_ / "bin/engine", root_, workspace_), workspace_ / "bin/engine");
}

TEST_F(ReferenceTest, AnEngineOutsideTheRootIsRefused) {
  EXPECT_EQ(engine_refusal("/usr/bin/env"), "BASELINE-ENGINE-NOT-ROOT-RELATIVE");
  EXPECT_EQ(engine_refusal("../candidate/bin/engine"), "BASELINE-ENGINE-NOT-ROOT-RELATIVE");
  EXPECT_EQ(engine_refusal("bin/../bin/engine"), "BASELINE-ENGINE-NOT-ROOT-RELATIVE");
  EXPECT_EQ(engine_refusal(""), "BASELINE-ENGINE-NOT-ROOT-RELATIVE");
}

TEST_F(ReferenceTest, ALinkThatLeavesTheTreeIsRefused) {
  fs::remove(workspace_ / "bin/engine");
  fs::create_symlink(root_ / "bin/engine", workspace_ / "bin/engine");
  EXPECT_EQ(engine_refusal("bin/engine"), "BASELINE-ENGINE-NOT-ROOT-RELATIVE");
  fs::remove(workspace_ / "bin/engine");
  executable(workspace_ / "bin/other");
  fs::create_symlink("other", workspace_ / "bin/engine");
  EXPECT_EQ(engine_refusal("bin/engine"), "");
}

TEST_F(ReferenceTest, AMissingOrPlainEngineIsRefused) {
  ::chmod((workspace_ / "bin/engine").c_str(), 0644);
  EXPECT_EQ(engine_refusal("bin/engine"), "BASELINE-WORKSPACE-NO-ENGINE");
  fs::remove(workspace_ / "bin/engine");
  EXPECT_EQ(engine_refusal("bin/engine"), "BASELINE-WORKSPACE-NO-ENGINE");
}

TEST_F(ReferenceTest, WeightsBelowTheRootAreFollowed) {
  fs::create_directories(root_ / "models");
  EXPECT_EQ(weights_refusal("models"), "BASELINE-WORKSPACE-NO-WEIGHTS");
  fs::create_directory_symlink(root_ / "models", workspace_ / "models");
  EXPECT_EQ(weights_refusal("models"), "BASELINE-WEIGHTS-NOT-ROOT-RELATIVE");
  fs::remove(workspace_ / "models");
  fs::create_directories(workspace_ / "models");
  EXPECT_EQ(*reference_weights("models", root_, workspace_), workspace_ / "models");
  EXPECT_EQ(weights_refusal("models/../models"), "BASELINE-WEIGHTS-NOT-ROOT-RELATIVE");
}

TEST_F(ReferenceTest, WeightsElsewhereAreTheReferencesOwnOrShared) {
  fs::create_directories(top_ / "shared");
  EXPECT_EQ(*reference_weights(top_ / "shared", root_, workspace_), top_ / "shared");
  EXPECT_EQ(weights_refusal("../shared"), "BASELINE-WEIGHTS-NOT-ROOT-RELATIVE");
  fs::create_directories(workspace_ / "weights");
  EXPECT_EQ(*reference_weights(top_ / "shared", root_, workspace_), workspace_ / "weights");
}

TEST_F(ReferenceTest, TheWorkspaceMustBeAFolder) {
  EnvironmentReader none(runner::Environment{});
  EXPECT_EQ(resolve_workspace(std::nullopt, none).refusal().code, "BASELINE-WORKSPACE-MISSING");
  EXPECT_EQ(resolve_workspace((top_ / "nothing").string(), none).refusal().code,
            "BASELINE-WORKSPACE-MISSING");
  EXPECT_EQ(resolve_workspace((workspace_ / "bin/engine").string(), none).refusal().code,
            "BASELINE-WORKSPACE-MISSING");
  EnvironmentReader named(runner::Environment{{"MLXFAST_BASELINE_WORKSPACE", workspace_.string()}});
  EXPECT_EQ(*resolve_workspace(std::nullopt, named), workspace_);
  EXPECT_EQ(named.names_read(), std::vector<std::string>{"MLXFAST_BASELINE_WORKSPACE"});
}

TEST(Box, TheRunnersNameWinsOverTheFlag) {
  EnvironmentReader none(runner::Environment{});
  EXPECT_EQ(resolve_box(std::nullopt, none).refusal().code, "BASELINE-BOX-UNRESOLVED");
  EXPECT_EQ(resolve_box("  ", none).refusal().code, "BASELINE-BOX-UNRESOLVED");
  EXPECT_EQ(*resolve_box(" local ", none), "local");
  EnvironmentReader named(runner::Environment{{"RUNNER_NAME", "box-7"}});
  EXPECT_EQ(*resolve_box("local", named), "box-7");
  EnvironmentReader blank(runner::Environment{{"RUNNER_NAME", "  "}});
  EXPECT_EQ(*resolve_box("local", blank), "local");
}

}  // namespace
}  // namespace assay::benchd

#include "bench/child/child.h"

#include <gtest/gtest.h>

#include <csignal>

namespace assay::bench {
namespace {

TEST(Child, ReadsAllOfStdout) {
  auto child = Child::start({"/bin/sh", "-c", "echo one; echo two"});
  ASSERT_TRUE(child);
  EXPECT_TRUE(child->finish());
  EXPECT_EQ(child->output(), "one\ntwo\n");
}

TEST(Child, RefusesAProgramThatIsNotThere) {
  const auto child = Child::start({"/no/such/program"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.refusal().code, "BENCH-CHILD-FAILED");
}

TEST(Child, RefusesAnExitCode) {
  auto child = Child::start({"/bin/sh", "-c", "exit 3"});
  ASSERT_TRUE(child);
  const Status status = child->finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.refusal().detail, "exit code 3");
}

TEST(Child, RefusesASignal) {
  auto child = Child::start({"/bin/sh", "-c", "kill -TERM $$"});
  ASSERT_TRUE(child);
  EXPECT_FALSE(child->finish());
}

TEST(Child, LeavesNoProcessBehind) {
  pid_t pid = 0;
  {
    auto child = Child::start({"/bin/sh", "-c", "echo ready; exec sleep 1000"});
    ASSERT_TRUE(child);
    EXPECT_TRUE(child->read_some());
    pid = child->pid();
  }
  EXPECT_NE(kill(pid, 0), 0);
}

}  // namespace
}  // namespace assay::bench

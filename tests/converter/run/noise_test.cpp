#include "run/noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/bench.h"

namespace skiff {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(NoiseTest, ReadsTheCountersOfTheSystem) {
  const auto ticks = ParseCpuTicks("cpu  100 20 30 4000 5 6 7 80 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->busy, 100u + 20 + 30 + 6 + 7);
  EXPECT_EQ(ticks->stolen, 80u);
  EXPECT_EQ(ticks->all, 100u + 20 + 30 + 4000 + 5 + 6 + 7 + 80) << "guests' time is among the users'";
}

TEST(NoiseTest, OtherTextIsNoCounter) {
  EXPECT_FALSE(ParseCpuTicks(""));
  EXPECT_FALSE(ParseCpuTicks("cpu 1 2 3"));
  EXPECT_FALSE(ParseCpuTicks("intr 1 2 3 4 5 6 7 8\n"));
}

TEST(NoiseTest, AQuietMeasurementIsCalledSo) {
  Noise noise;
  noise.cpus = 2;
  noise.others = 0.02;
  noise.preempted = 3;
  EXPECT_FALSE(IsNoisy(noise, 0.031, 50));
  EXPECT_EQ(NoiseText(noise, 0.031, 50), "quiet (p10 to p90 within 3.1 %)");
}

TEST(NoiseTest, NamesWhatDisturbed) {
  Noise noise;
  noise.cpus = 2;
  noise.others = 1.42;
  noise.stolen = 0.034;
  noise.preempted = 12;
  noise.mhz_before = 2000;
  noise.mhz_after = 1500;
  EXPECT_TRUE(IsNoisy(noise, 0.35, 50));
  EXPECT_THAT(NoiseText(noise, 0.35, 50),
              AllOf(StartsWith("noisy: p10 to p90 are 35 % apart"),
                    HasSubstr("other programs kept 1.4 of 2 CPUs busy"),
                    HasSubstr("3.4 % of the CPU time went to other virtual machines"),
                    HasSubstr("interrupted 12 times"), HasSubstr("the clock went from 2000 to 1500 MHz")));
  noise.others = 0;
  EXPECT_THAT(NoiseText(noise, 0.01, 50),
              AllOf(StartsWith("noisy"), Not(HasSubstr("other programs")), Not(HasSubstr("apart"))));
}

TEST(NoiseTest, OneCauseIsEnough) {
  EXPECT_TRUE(IsNoisy({}, 0.2, 50));
  Noise noise;
  noise.others = 0.5;
  EXPECT_TRUE(IsNoisy(noise, 0, 50));
  noise = {};
  noise.stolen = 0.02;
  EXPECT_TRUE(IsNoisy(noise, 0, 50));
}

TEST(NoiseTest, FewRunsTellNothing) {
  EXPECT_EQ(NoiseText({}, 0, 1), "1 run is too few to tell; 10 are enough");
  EXPECT_EQ(NoiseText({}, 0.5, 9), "9 runs are too few to tell; 10 are enough");
  EXPECT_FALSE(IsNoisy({}, 0.5, 9));
  Noise noise;
  noise.others = 0.5;
  noise.cpus = 2;
  EXPECT_EQ(NoiseText(noise, 0.5, 1),
            "noisy: other programs kept 0.5 of 2 CPUs busy; compare minima, or measure again");
}

TEST(BenchResultTest, NodesAndTheRestAddUpToTheRun) {
  BenchResult result;
  result.nodes.resize(3);
  result.nodes[0].median_ns = 100;
  result.nodes[1].median_ns = 50;
  result.nodes[2].median_ns = 1000;
  result.nodes[2].info.shape_program = true;
  result.profiled_run_ns = 180;
  EXPECT_EQ(result.NodesTime(), 150);
  EXPECT_EQ(result.BetweenNodes(), 30);
}

TEST(NoiseTest, WhatThisProgramDidIsNotOthers) {
  const CpuTicks begin{1000, 50, 5000};
  const CpuTicks end{1120, 54, 5200};  // 200 ticks of two CPUs, that is 100 of each.
  const Noise noise = NoiseBetween(begin, end, 100, 2);
  EXPECT_EQ(noise.cpus, 2);
  EXPECT_DOUBLE_EQ(noise.others, 0.2);
  EXPECT_DOUBLE_EQ(noise.stolen, 0.02);
  EXPECT_EQ(NoiseBetween(begin, end, 130, 2).others, 0) << "its own time is counted more finely";
}

TEST(NoiseTest, TooFewTicksTellNothing) {
  EXPECT_EQ(NoiseBetween({0, 0, 0}, {19, 0, 19}, 0, 2).cpus, 0);
  EXPECT_EQ(NoiseBetween({0, 0, 0}, {20, 0, 20}, 0, 2).cpus, 2);
}

}  // namespace
}  // namespace skiff

// SPDX-License-Identifier: Apache-2.0
#include "candidate/outcome.h"

#include <gtest/gtest.h>

namespace cuco::candidate {
namespace {

TEST(Outcome, FindingNamesBothPlaces) {
  const Findings found{{{"race", "not ordered", Site{"a.cu", 3}, Site{"a.cu", 9}, "a barrier"}},
                       ""};
  EXPECT_EQ(summary(found), "race (a.cu:3 against a.cu:9)");
  EXPECT_EQ(explanation(found),
            "a.cu:3: race: not ordered\n    the other side: a.cu:9\n    a barrier");
}

TEST(Outcome, FindingWithoutAPlaceSaysWhatItIs) {
  const Findings found{{{"work left running", "a kernel runs on", {}, {}, ""}}, ""};
  EXPECT_EQ(summary(found), "work left running (a kernel runs on)");
  EXPECT_EQ(explanation(found), "work left running: a kernel runs on");
}

TEST(Outcome, OfACompilerIsTheFirstErrorNotAWarningBeforeIt) {
  const BuildFailed failed{
      "p.cu(47): warning #177-D: unused\n\n/tmp/x.s: Assembler messages:\n/tmp/x.s:9: Error: "
      "twice\n"};
  EXPECT_EQ(summary(failed), "does not compile: /tmp/x.s:9: Error: twice");
  EXPECT_EQ(summary(BuildFailed{"no words\nof anything"}), "does not compile: no words");
}

}  // namespace
}  // namespace cuco::candidate

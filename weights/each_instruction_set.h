#ifndef LANEWISE_WEIGHTS_EACH_INSTRUCTION_SET_H_
#define LANEWISE_WEIGHTS_EACH_INSTRUCTION_SET_H_

// For tests of code that Highway compiles once for each instruction set.

#include <cstdint>

#include "gtest/gtest.h"
#include "hwy/targets.h"

namespace lanewise {

// Calls body() with each instruction set that this machine has switched on alone, then switches all
// on again. One that the machine has and the build leaves out runs the baseline. What is planned
// for an instruction set (a Packer) has to be made within `body`.
template <class Body>
void ForEachInstructionSet(const Body& body) {
  hwy::DisableTargets(0);
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t rest = all; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    hwy::DisableTargets(~target);
    hwy::GetChosenTarget().Update(target);
    SCOPED_TRACE(hwy::TargetName(target));
    body();
    if (testing::Test::HasFatalFailure()) break;
  }
  hwy::DisableTargets(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_EACH_INSTRUCTION_SET_H_

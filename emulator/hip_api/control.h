#ifndef LANEWISE_EMULATOR_HIP_API_CONTROL_H_
#define LANEWISE_EMULATOR_HIP_API_CONTROL_H_

// What the HIP API has no words for: the emulator's checks, counters and reports.
//
// At start the environment decides: LANEWISE_EMULATOR_CHECKS ("all", "none" or a list, see
// ParseChecks; all where unset) and LANEWISE_EMULATOR_THREADS (a number; one a processor where
// unset). A failed call also says why on the standard error output.

#include <string>
#include <string_view>

#include "emulator/checks.h"
#include "emulator/count/counters.h"
#include "emulator/count/traffic.h"

namespace lanewise::emulator {

// For all launches from now on.
void SetChecks(Checks checks);
void SetThreads(int threads);

// Of the last launch that succeeded, on any device.
LaunchCounters LastLaunchCounters();

// Between the two calls every launch that succeeds is recorded, on any device, and what it loads
// and stores by allocation: for programs that launch one after the other. Costs time.
void StartRecording();
Recording StopRecording();

// Why the last call of this thread that failed did so; empty before the first.
std::string LastReport();

// Gives the allocation that begins at `pointer` a name for reports. False where none does.
bool NameAllocation(const void* pointer, std::string_view name);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_HIP_API_CONTROL_H_

#ifndef LANEWISE_TESTS_DIFFERENTIAL_RUN_H_
#define LANEWISE_TESTS_DIFFERENTIAL_RUN_H_

// Runs one case: one implementation of an operation, on one shape, through every kind of data.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {

inline constexpr std::string_view kHost = "host";
inline constexpr std::string_view kGpu = "gpu";
inline constexpr std::string_view kBackends[] = {"host", "emulator_gfx942", "emulator_gfx950",
                                                 "gpu"};

// One buffer of a call while a case runs, with the guards around it. Host memory, or the copy of
// what goes to a device and of what came back.
struct Image {
  const Argument* argument = nullptr;
  std::vector<std::uint8_t> all;  // guard, data, guard
  std::int64_t guard = 0;         // bytes of each; 0 in the second run
  std::int64_t bytes = 0;
  std::uint8_t* data() { return all.data() + guard; }
};

// For tests of the engine: what happens to the inputs before an implementation sees them, and to
// all it leaves, as if the implementation had done it. `run` is 0 or 1.
struct Tampering {
  std::function<void(std::vector<Image>&)> before = {};
  std::function<void(int run, std::vector<Image>&)> after = {};
};

// An implementation on a backend.
struct Implementation {
  const Operation* operation = nullptr;
  std::string backend;
  Function run;
  const hip::Device* device = nullptr;  // null: host memory
  // A bare kernel cannot refuse: it is not run where the reference does.
  bool can_refuse = true;
  std::string repeat = {};  // further flags of the line that reproduces a failure
};

// Each kind of data: inputs are drawn with the seed; the reference and the implementation run, the
// latter twice, between guards of 256 bytes with outputs of 0xA5 and then in memory of exactly the
// size with outputs of 0x5A. OK where the outputs are the reference's by their contracts and the
// same both times, inputs and guards are as they were; or where both refuse. Else the failure's
// report. `kinds` counts the kinds that ran, if not null. `only` narrows the case to one kind of
// data: InvalidArgument where the operation does not list it.
absl::Status RunCase(const Implementation& implementation, const Shape& shape, std::uint64_t seed,
                     const Tampering& tampering = {}, std::int64_t* kinds = nullptr,
                     std::optional<Data> only = std::nullopt);

// "host/gfx942/dense": what stands before the shape in a case's name.
std::string SuiteName(const Implementation& implementation);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_RUN_H_

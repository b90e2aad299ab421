// Runs the cases of one backend as tests named `backend/operation.shape`.
//
//   differential --backend=host [--gtest_filter=...]
//
// LANEWISE_SEED chooses what is drawn (1 by default). With LANEWISE_NIGHTLY set the seed is a new
// one each time, and when the cases are through, random shapes are drawn for LANEWISE_MINUTES (10).
// A backend that there is not and a value that is no number end it with exit code 2.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text.h"
#include "gtest/gtest.h"
#include "tests/differential/backend.h"
#include "tests/differential/operation.h"
#include "tests/differential/run.h"
#include "tests/differential/shape.h"

namespace lanewise::differential {
namespace {

// A week.
constexpr int kMostMinutes = 7 * 24 * 60;

std::int64_t cases_run = 0, kinds_run = 0;

class CaseTest : public testing::Test {
 public:
  CaseTest(Implementation implementation, Shape shape, std::uint64_t seed)
      : implementation_(std::move(implementation)), shape_(std::move(shape)), seed_(seed) {}

  void TestBody() override {
    const absl::Status status = RunCase(implementation_, shape_, seed_, {}, &kinds_run);
    ++cases_run;
    if (!status.ok()) ADD_FAILURE() << status.message();
  }

 private:
  Implementation implementation_;
  Shape shape_;
  std::uint64_t seed_;
};

class SkippedTest : public testing::Test {
 public:
  explicit SkippedTest(std::string reason) : reason_(std::move(reason)) {}
  void TestBody() override { GTEST_SKIP() << reason_; }

 private:
  std::string reason_;
};

class BrokenTest : public testing::Test {
 public:
  explicit BrokenTest(std::string reason) : reason_(std::move(reason)) {}
  void TestBody() override { FAIL() << reason_; }

 private:
  std::string reason_;
};

void RegisterSkipped(const std::string& suite, const std::string& name, const std::string& reason) {
  testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [reason]() -> testing::Test* { return new SkippedTest(reason); });
}

void Register(const Backend& backend, std::uint64_t seed) {
  for (const Operation* operation : Operations()) {
    const std::optional<Implementation> implementation = ImplementationOf(*operation, backend);
    // Of a card it depends on the chip what there is: what was not run is said.
    if (!implementation && backend.name == kGpu && operation->device) {
      RegisterSkipped(absl::StrCat(kGpu.data(), "/", operation->name), "all",
                      absl::StrCat("no code for ", backend.device->arch(), "; there is for ",
                                   absl::StrJoin(operation->chips, ", ")));
    }
    if (!implementation) continue;
    const std::string suite = SuiteName(*implementation);
    const absl::StatusOr<std::vector<Shape>> shapes =
        ParseShapes(operation->shapes, operation->dimensions, seed);
    if (!shapes.ok()) {
      const std::string reason(StdView(shapes.status().message()));
      testing::RegisterTest(suite.c_str(), "shapes", nullptr, nullptr, __FILE__, __LINE__,
                            [reason]() -> testing::Test* { return new BrokenTest(reason); });
      continue;
    }
    for (const Shape& shape : *shapes) {
      testing::RegisterTest(
          suite.c_str(), shape.Text().c_str(), nullptr, nullptr, __FILE__, __LINE__,
          [=, i = *implementation]() -> testing::Test* { return new CaseTest(i, shape, seed); });
    }
  }
}

// Draws shapes, operation after operation, until the minutes are over. Whether all were right.
bool GoOnDrawing(const Backend& backend, double minutes, std::uint64_t seed) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double>(60 * minutes));
  std::int64_t drawn = 0, failures = 0;
  for (std::uint64_t draw = seed; std::chrono::steady_clock::now() < end && failures < 10; ++draw) {
    const std::int64_t before = drawn;
    for (const Operation* operation : Operations()) {
      const std::optional<Implementation> implementation = ImplementationOf(*operation, backend);
      if (!implementation || std::chrono::steady_clock::now() >= end) continue;
      const absl::StatusOr<std::vector<Shape>> shapes =
          DrawShapes(operation->shapes, operation->dimensions, draw, 1);
      if (!shapes.ok()) continue;  // its own test has failed
      for (const Shape& shape : *shapes) {
        const absl::Status status = RunCase(*implementation, shape, draw, {}, &kinds_run);
        ++drawn;
        if (status.ok()) continue;
        ++failures;
        std::cout << "[  FAILED  ] " << StdView(status.message()) << std::endl;
      }
    }
    if (drawn == before) break;  // nothing to draw from
  }
  std::printf("%s: %lld cases drawn in %.1f minutes from seed %llu on, %lld failed\n",
              backend.name.c_str(), static_cast<long long>(drawn), minutes,
              static_cast<unsigned long long>(seed), static_cast<long long>(failures));
  return failures == 0;
}

// The value of a variable of the environment. What cannot be read must not run as something else:
// a test that draws nothing would pass.
absl::Status ReadSeed(std::uint64_t& seed) {
  const char* const text = std::getenv("LANEWISE_SEED");
  if (text == nullptr || absl::SimpleAtoi(text, &seed)) return absl::OkStatus();
  return InvalidArgument("LANEWISE_SEED '", text, "': expected a whole number below 2^64");
}
absl::Status ReadMinutes(double& minutes) {
  const char* const text = std::getenv("LANEWISE_MINUTES");
  if (text == nullptr) return absl::OkStatus();
  if (absl::SimpleAtod(text, &minutes) && minutes >= 0 && minutes <= kMostMinutes) {
    return absl::OkStatus();
  }
  return InvalidArgument("LANEWISE_MINUTES '", text, "': expected a number from 0 to ",
                         kMostMinutes);
}

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string name = "host";
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    constexpr std::string_view kFlag = "--backend=";
    if (flag.substr(0, kFlag.size()) != kFlag) {
      std::fprintf(stderr, "unknown argument '%s'\n", argv[i]);
      return 2;
    }
    name = flag.substr(kFlag.size());
  }
  const bool nightly = std::getenv("LANEWISE_NIGHTLY") != nullptr;
  std::uint64_t seed = nightly ? std::random_device()() : 1;
  double minutes = 10;
  const absl::StatusOr<Backend> backend = OpenBackend(name);
  absl::Status mistake = ReadSeed(seed);
  mistake.Update(ReadMinutes(minutes));
  // A device that is not here is skipped; a name that nobody has would be skipped everywhere.
  if (absl::IsInvalidArgument(backend.status())) mistake.Update(backend.status());
  if (!mistake.ok()) {
    std::fprintf(stderr, "%s\n", std::string(StdView(mistake.message())).c_str());
    return 2;
  }

  if (backend.ok()) {
    Register(*backend, seed);
  } else {
    const std::string reason(StdView(backend.status().message()));
    RegisterSkipped(name, "device", reason);
  }
  int result = RUN_ALL_TESTS();
  std::printf("%s: %lld cases, %lld with their kinds of data, each run twice; seed %llu\n",
              name.c_str(), static_cast<long long>(cases_run), static_cast<long long>(kinds_run),
              static_cast<unsigned long long>(seed));
  if (backend.ok() && nightly && result == 0) {
    const char* const shard = std::getenv("GTEST_SHARD_INDEX");
    const std::uint64_t first =
        seed + 1'000'000 * (1 + (shard == nullptr ? 0 : std::strtoull(shard, nullptr, 10)));
    if (!GoOnDrawing(*backend, minutes, first)) result = 1;
  }
  return result;
}

}  // namespace
}  // namespace lanewise::differential

int main(int argc, char** argv) { return lanewise::differential::Main(argc, argv); }

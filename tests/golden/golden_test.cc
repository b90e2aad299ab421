// Registers a test for every case of the manifests named in the arguments, in each implementation
// that it must pass in: IMPLEMENTATION/MANIFEST.OP/INDEX, as weights/layouts.dense_copy/7.

#include <cstdio>
#include <deque>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/golden/manifest.h"
#include "tests/golden/operations.h"
#include "tests/golden/run_case.h"

namespace lanewise::golden {
namespace {

class GoldenCase : public testing::Test {
 public:
  GoldenCase(const Case* golden_case, std::string implementation)
      : golden_case_(golden_case), implementation_(std::move(implementation)) {}

  void TestBody() override {
    const absl::Status status = RunCase(OperationTable::Get(), *golden_case_, implementation_);
    EXPECT_TRUE(status.ok()) << CaseText(*golden_case_, implementation_) << ": "
                             << status.message();
  }

 private:
  const Case* golden_case_;
  std::string implementation_;
};

void Register(const Manifest& manifest) {
  for (const Case& golden_case : manifest.cases()) {
    for (const std::string& implementation :
         OperationTable::Get().Implementations(golden_case.op())) {
      testing::RegisterTest(absl::StrCat(implementation, "/", manifest.name()).c_str(),
                            absl::StrCat(golden_case.op(), "/", golden_case.index()).c_str(),
                            nullptr, nullptr, __FILE__, __LINE__,
                            [case_pointer = &golden_case, implementation]() -> testing::Test* {
                              return new GoldenCase(case_pointer, implementation);
                            });
    }
  }
}

}  // namespace
}  // namespace lanewise::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  static std::deque<lanewise::golden::Manifest> manifests;  // Tests point into them.
  for (int i = 1; i < argc; ++i) {
    absl::StatusOr<lanewise::golden::Manifest> manifest = lanewise::golden::Manifest::Open(argv[i]);
    if (!manifest.ok()) {
      std::fprintf(stderr, "%s\n", std::string(manifest.status().message()).c_str());
      return 1;
    }
    manifests.push_back(*std::move(manifest));
    lanewise::golden::Register(manifests.back());
  }
  return RUN_ALL_TESTS();
}

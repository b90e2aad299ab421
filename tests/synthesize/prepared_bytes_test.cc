// Every byte of what `lanewise prepare` writes stays what it was: prepared_digests.txt holds a digest
// of each built-in model, made small, for each target.
//
// A line is DIGEST MODEL OPTIONS...; the digest is the XXH3 of one line "DIGEST NAME" for each file
// of the output, by name. It may change only with a reason that the commit gives, since every file
// prepared before then differs from one prepared after it.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "checkpoint/files/digest.h"
#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/synthesize/small_models.h"
#include "tests/tools/command.h"

namespace lanewise {
namespace {

struct Recorded {
  std::string digest;
  std::string model;
  std::vector<std::string> options;
};

std::vector<Recorded> AllRecorded() {
  std::vector<Recorded> all;
  std::ifstream table("tests/synthesize/prepared_digests.txt");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    Recorded recorded;
    words >> recorded.digest >> recorded.model;
    for (std::string word; words >> word;) recorded.options.push_back(word);
    all.push_back(recorded);
  }
  return all;
}

// One line a file below `directory`, by name.
std::string FileDigests(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    names.push_back(std::filesystem::relative(entry.path(), directory).string());
  }
  std::sort(names.begin(), names.end());
  std::string lines;
  for (const std::string& name : names) {
    lines += DigestHex(AsBytes(ReadAll(directory + "/" + name))) + " " + name + "\n";
  }
  return lines;
}

class PreparedBytesTest : public testing::TestWithParam<std::string> {
 protected:
  const TestDirectory directory_;
};

TEST_P(PreparedBytesTest, AreThoseOfTheTable) {
  const std::string in = directory_.File("model");
  const Ran made = RunLanewise(SynthesizeSmall(GetParam(), in));
  ASSERT_EQ(made.status, 0) << Text(made);
  int compared = 0;
  for (const Recorded& recorded : AllRecorded()) {
    if (recorded.model != GetParam()) continue;
    const std::string out = directory_.File("out");
    std::filesystem::remove_all(out);
    std::vector<std::string> arguments = {"prepare", in, out};
    arguments.insert(arguments.end(), recorded.options.begin(), recorded.options.end());
    const Ran prepared = RunLanewise(arguments);
    ASSERT_EQ(prepared.status, 0) << Text(prepared);
    const std::string files = FileDigests(out);
    EXPECT_EQ(DigestHex(AsBytes(files)), recorded.digest) << Text(prepared) << files;
    ++compared;
  }
  EXPECT_GE(compared, 6) << "prepared_digests.txt has too few lines for this model";
}

INSTANTIATE_TEST_SUITE_P(
    Models, PreparedBytesTest, testing::ValuesIn(ModelNames()), [](const auto& info) {
      std::string name = info.param;
      std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

}  // namespace
}  // namespace lanewise

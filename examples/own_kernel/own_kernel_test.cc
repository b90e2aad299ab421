// The two examples run as their README says, and mistakes in a description are named.

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace {

std::string check_path;

struct Result {
  int status = -1;
  std::string output;
};

Result Check(const std::string& arguments) {
  Result result;
  std::FILE* const pipe = popen((check_path + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) result.output += buffer.data();
  result.status = WEXITSTATUS(pclose(pipe));
  return result;
}

const char kFolder[] = "examples/own_kernel/";

// The description with one text replaced by another, in a file of its own.
std::string Changed(const std::string& file, const std::string& from, const std::string& to) {
  std::ifstream in(kFolder + file);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/changed.json";
  std::ofstream(path) << text.replace(at, from.size(), to);
  return path;
}

TEST(OwnKernel, ACodeObjectRunsOnTheEmulator) {
  const Result result = Check("--operation dequantize/e4m3fn_to_f32 --kernel " +
                              std::string(kFolder) + "dequantize.json");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_NE(result.output.find("emulator_gfx942/dequantize/e4m3fn_to_f32"), std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find("all right"), std::string::npos) << result.output;
}

TEST(OwnKernel, ACFunctionRunsOnTheHost) {
  const Result result = Check("--kernel " + std::string(kFolder) + "pack.json");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_NE(result.output.find("host/pack/gfx942/dense"), std::string::npos) << result.output;
}

TEST(OwnKernel, AWrongOneIsReportedWithTheLineThatRepeatsIt) {
  const std::string path =
      Changed("pack.json", "\"libpack.so\"",
              "\"" + std::string(std::getenv("PWD")) + "/" + kFolder + "libpack.so\"");
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  // Operands the wrong way round: the input is written.
  const std::string swapped = "\"out\", \"in\"", names = "\"in\", \"out\"";
  text.replace(text.find(names), names.size(), swapped);
  std::ofstream(path) << text;
  const Result result = Check("--kernel " + path);
  EXPECT_EQ(result.status, 1) << result.output;
  EXPECT_NE(result.output.find("an input's"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("--kernel " + path), std::string::npos) << result.output;
}

TEST(OwnKernel, MistakesNameTheField) {
  struct Mistake {
    const char *from, *to, *says;
  };
  for (const Mistake& mistake : {
           Mistake{"\"kernel\"", "\"kernle\"", "field 'kernel': is missing"},
           Mistake{"[256]", "[256], \"stream\": 1", "field 'stream': is no field"},
           Mistake{"M * K, 256", "M * Q, 256", "field 'grid': 'ceil(M * Q, 256)', character 10"},
           Mistake{"\"codes\"", "\"scales\"", "field 'arguments[1]'"},
           Mistake{"\"i32\"", "\"f32\"", "field 'arguments[3]'"},
           Mistake{"[256]", "256", "field 'block': expected 1 to 3"},
           Mistake{"e4m3fn_to_f32", "nothing",
                   "field 'operation': there is no 'dequantize/nothing'"},
           Mistake{"dequantize.gfx942.hsaco", "none.hsaco", "field 'code_object': cannot read"},
           Mistake{"[256]", "[256", "parse error"},
       }) {
    const Result result = Check("--kernel " + Changed("dequantize.json", mistake.from, mistake.to));
    EXPECT_EQ(result.status, 2) << result.output;
    EXPECT_NE(result.output.find(mistake.says), std::string::npos)
        << "expected " << mistake.says << ", got " << result.output;
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return 2;
  check_path = argv[1];
  return RUN_ALL_TESTS();
}

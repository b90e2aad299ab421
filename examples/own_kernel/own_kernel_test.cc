// The two examples run as their README says, and mistakes in a description are named.

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "tests/programs/run_program.h"

namespace lanewise {
namespace {

std::string check_path;

Ran Check(const std::string& arguments) { return RunShell(check_path + " " + arguments); }

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
  const Ran result = Check("--operation dequantize/e4m3fn_to_f32 --kernel " + std::string(kFolder) +
                           "dequantize.json");
  ExpectSays(result, 0, "emulator_gfx942/dequantize/e4m3fn_to_f32");
  ExpectSays(result, 0, "all right");
}

TEST(OwnKernel, ACFunctionRunsOnTheHost) {
  const Ran result = Check("--kernel " + std::string(kFolder) + "pack.json");
  ExpectSays(result, 0, "host/pack/gfx942/dense");
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
  const Ran result = Check("--kernel " + path);
  ExpectSays(result, 1, "an input's");
  ExpectSays(result, 1, "--kernel " + path);
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
    const Ran result = Check("--kernel " + Changed("dequantize.json", mistake.from, mistake.to));
    ExpectSays(result, 2, mistake.says);
  }
}

}  // namespace
}  // namespace lanewise

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return 2;
  lanewise::check_path = argv[1];
  return RUN_ALL_TESTS();
}

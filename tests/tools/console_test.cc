// What reaches the terminal, and what becomes of outputs that cannot be written.

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"
#include "tools/demo/checkpoint_maker.h"

namespace lanewise {
namespace {

// A name that would clear the screen, write a line of its own, and turn what follows around.
constexpr char kName[] = "a\x1B[2J\nlanewise verify: all right\xE2\x80\xAE.weight";
constexpr char kPrinted[] = "a\\x1B[2J\\nlanewise verify: all right\\u202E.weight";

void ExpectHarmless(const Ran& ran) {
  for (const std::string* text : {&ran.out, &ran.err}) {
    EXPECT_EQ(text->find('\x1B'), std::string::npos) << Text(ran);
    EXPECT_EQ(text->find("\xE2\x80\xAE"), std::string::npos) << Text(ran);
    EXPECT_EQ(text->find("\nlanewise verify: all right"), std::string::npos) << Text(ran);
  }
}

class ConsoleTest : public testing::Test {
 protected:
  const TestDirectory directory_;
};

TEST_F(ConsoleTest, NamesOfTensorsAreEscaped) {
  const std::string in = directory_.File("in.safetensors");
  tools::CheckpointMaker maker(1);
  maker.AddBf16(kName, {64, 128});
  maker.AddBf16(std::string("norm.") + kName, {64});
  ASSERT_TRUE(maker.Write(in).ok());
  const std::string q = directory_.File("q.safetensors"), p = directory_.File("p.safetensors");
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"inspect", in},
           {"quantize", in, q, "--scales", "block"},
           {"prepare", q, p, "--target", "gfx942", "--dry-run", "--recipe", "generic-mxfp8"},
           {"prepare", q, p, "--target", "gfx942", "--recipe", "generic-mxfp8"},
           {"inspect", p},
           {"verify", p, "--against", q},
           {"restore", p, directory_.File("back.safetensors")},
           {"dequantize", q, directory_.File("d.safetensors")}}) {
    const Ran ran = RunLanewise(arguments);
    EXPECT_EQ(ran.status, 0) << Text(ran);
    ExpectHarmless(ran);
    if (arguments[0] == "inspect" || arguments[0] == "quantize") {
      EXPECT_NE(ran.out.find(kPrinted), std::string::npos) << Text(ran);
    }
  }
  // Messages too.
  std::string bytes = ReadAll(p);
  bytes.back() ^= 1;
  directory_.Write("p.safetensors", bytes);
  Ran ran = RunLanewise({"verify", p});
  EXPECT_EQ(ran.status, 1) << Text(ran);
  ExpectHarmless(ran);
  ran = RunLanewise(
      {"prepare", in, directory_.File("no"), "--target", "gfx942", "--recipe", "generic-mxfp8"});
  ExpectHarmless(ran);
}

TEST_F(ConsoleTest, PathsAreEscaped) {
  for (const char* command : {"inspect", "verify"}) {
    const Ran ran = RunLanewise({command, std::string("/nonexistent/\xFF\xC3\xA9") + kName});
    EXPECT_EQ(ran.status, 1) << Text(ran);
    EXPECT_NE(ran.err.find(std::string("\\xFF\xC3\xA9") + kPrinted), std::string::npos)
        << Text(ran);
    ExpectHarmless(ran);
  }
  ExpectHarmless(RunLanewise({kName}));
  ExpectHarmless(RunLanewise({"layouts", kName}));
  ExpectHarmless(RunLanewise({"inspect", "--threads", kName}));
}

// A limit of file sizes ends a command as a full disk does: an error, not a signal.
TEST_F(ConsoleTest, ALimitOfFileSizesIsAnError) {
  const std::string out = directory_.File("out");
  const Ran ran = RunLanewiseShell("ulimit -f 64; \"$LANEWISE\" synthesize " + out +
                                   " --model gpt-oss-20b --layers 1 --experts 1 --size vocab=64");
  EXPECT_EQ(ran.status, 1) << Text(ran);
  EXPECT_NE(ran.err.find("model-00001-of-00001.safetensors: cannot "), std::string::npos)
      << Text(ran);
  EXPECT_NE(ran.err.find("File too large"), std::string::npos) << Text(ran);
}

TEST_F(ConsoleTest, AReportThatCannotBeWrittenIsAnError) {
  for (const char* command : {"layouts", "--help"}) {
    const Ran ran = RunLanewiseShell("\"$LANEWISE\" " + std::string(command) + " > /dev/full");
    EXPECT_EQ(ran.status, 1) << Text(ran);
    EXPECT_NE(ran.err.find("could not be written to stdout: No space left on device"),
              std::string::npos)
        << Text(ran);
  }
}

// `| head -1`: it ends by SIGPIPE, as commands do, and says nothing.
TEST_F(ConsoleTest, AClosedPipeEndsItQuietly) {
  const Ran ran = RunLanewiseShell(
      "{ \"$LANEWISE\" synthesize out --model deepseek-v4-pro --dry-run --shard-size 1MB; "
      "echo status $? >&2; } | head -c 1");
  EXPECT_EQ(ran.err, "status 141\n") << Text(ran);
}

TEST_F(ConsoleTest, OneOfAThingIsSaidAsOne) {
  const std::string in = directory_.File("in.safetensors"), q = directory_.File("q.safetensors"),
                    p = directory_.File("p.safetensors");
  tools::CheckpointMaker maker(1);
  maker.AddBf16("norm", {64});
  ASSERT_TRUE(maker.Write(in).ok());
  Ran ran = RunLanewise({"inspect", in});
  EXPECT_NE(ran.out.find("\n1 tensor, 128 bytes\n"), std::string::npos) << Text(ran);
  ran = RunLanewise({"prepare", in, p, "--target", "gfx950", "--recipe", "generic-mxfp8"});
  EXPECT_NE(ran.out.find(": 1 source tensor = 0 prepared + 1 copied; 1 tensor out, 128 bytes"),
            std::string::npos)
      << Text(ran);
  ran = RunLanewise({"verify", p, "--against", in});
  EXPECT_NE(ran.out.find("; its one tensor is accounted for\n"), std::string::npos) << Text(ran);
}

}  // namespace
}  // namespace lanewise

// Every instruction that the compiler made of the corpus has a handler: what no test happens to
// execute is missed here too.

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "emulator/arch.h"
#include "emulator/isa/dispatch.h"
#include "emulator/load/code_object.h"
#include "gtest/gtest.h"

namespace lanewise::emulator {
namespace {

std::vector<std::string>& Paths() {
  static auto* const kPaths = new std::vector<std::string>();
  return *kPaths;
}

TEST(Census, EveryInstructionHasAHandler) {
  ASSERT_FALSE(Paths().empty());
  std::map<Arch, std::map<std::string, std::string>> seen;  // mnemonic to one file that has it
  for (const std::string& path : Paths()) {
    const Arch arch = path.find(".gfx950.") == std::string::npos ? Arch::kGfx942 : Arch::kGfx950;
    std::ifstream file(path, std::ios::binary);
    const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    auto object = CodeObject::Load(bytes, arch);
    ASSERT_TRUE(object.ok()) << path << ": " << object.status();
    for (const Instruction& inst : (*object)->program().instructions) {
      // Padding between functions decodes to nothing.
      if (inst.mnemonic[0] != '\0') seen[arch].emplace(inst.mnemonic, path);
    }
  }
  for (const auto& [arch, mnemonics] : seen) {
    // FACTS of the compiler, loosely: far fewer would mean that the census saw nothing.
    EXPECT_GT(mnemonics.size(), 150u) << ArchName(arch);
    for (const auto& [mnemonic, path] : mnemonics) {
      EXPECT_NE(HandlersFor(arch).Find(mnemonic), nullptr)
          << mnemonic << " of " << ArchName(arch) << " in " << path;
    }
  }
}

}  // namespace
}  // namespace lanewise::emulator

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  lanewise::emulator::Paths().assign(argv + 1, argv + argc);
  return RUN_ALL_TESTS();
}

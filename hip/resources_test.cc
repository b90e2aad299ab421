// Holds the kernels of code objects, given as arguments, to their promise: no register spilled, no
// scratch memory.

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "emulator/arch.h"
#include "emulator/load/code_object.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

std::vector<std::string>& Paths() {
  static auto* const kPaths = new std::vector<std::string>();
  return *kPaths;
}

std::vector<uint8_t> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool IsPtx(const std::string& path) { return path.ends_with(".ptx"); }

TEST(Resources, NoSpillAndNoScratch) {
  ASSERT_FALSE(Paths().empty()) << "no code object given";
  for (const std::string& path : Paths()) {
    if (IsPtx(path)) continue;
    const std::vector<uint8_t> bytes = ReadFile(path);
    const auto arch = path.find(".gfx950.") == std::string::npos ? emulator::Arch::kGfx942
                                                                 : emulator::Arch::kGfx950;
    auto object = emulator::CodeObject::Load(bytes, arch);
    ASSERT_TRUE(object.ok()) << path << ": " << object.status();
    ASSERT_FALSE((*object)->kernels().empty()) << path;
    for (const emulator::Kernel& kernel : (*object)->kernels()) {
      EXPECT_EQ(kernel.vgpr_spill_count, 0) << path << ": " << kernel.name;
      EXPECT_EQ(kernel.sgpr_spill_count, 0) << path << ": " << kernel.name;
      EXPECT_EQ(kernel.private_segment_size, 0u) << path << ": " << kernel.name;
      EXPECT_FALSE(kernel.uses_dynamic_stack) << path << ": " << kernel.name;
    }
  }
}

// Of PTX only that it asks for no memory of a lane's own: registers are the driver's affair.
TEST(Resources, PtxHasNoLocalMemory) {
  for (const std::string& path : Paths()) {
    if (!IsPtx(path)) continue;
    const std::vector<uint8_t> bytes = ReadFile(path);
    const std::string text(bytes.begin(), bytes.end());
    EXPECT_NE(text.find(".entry"), std::string::npos) << path;
    EXPECT_EQ(text.find(".local"), std::string::npos) << path;
  }
}

}  // namespace
}  // namespace lanewise

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  lanewise::Paths().assign(argv + 1, argv + argc);
  return RUN_ALL_TESTS();
}

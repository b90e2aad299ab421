// Loading: damaged and foreign files are refused, whatever byte is wrong, and never crash.

#include "emulator/load/code_object.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/corpus/control_flow_o2.h"
#include "emulator/load/offload_bundle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/embedded_code_object.h"

namespace lanewise::emulator {
namespace {

using testing::HasSubstr;

std::vector<uint8_t> ObjectFor(std::string_view arch) {
  for (const hip::EmbeddedCodeObject& object : hip::ControlFlowO2CodeObjects()) {
    if (object.arch == arch) return {object.bytes.begin(), object.bytes.end()};
  }
  return {};
}

void Append(std::vector<uint8_t>& bytes, uint64_t value) {
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

// A bundle of a host entry and one for each chip.
std::vector<uint8_t> Bundle() {
  const std::string names[] = {"host-x86_64-unknown-linux--",
                               "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-",
                               "hipv4-amdgcn-amd-amdhsa--gfx950"};
  const std::vector<uint8_t> contents[] = {{}, ObjectFor("gfx942"), ObjectFor("gfx950")};
  const std::string_view magic = "__CLANG_OFFLOAD_BUNDLE__";
  std::vector<uint8_t> bytes(magic.begin(), magic.end());
  Append(bytes, 3);
  uint64_t offset = 4096;
  for (int i = 0; i < 3; ++i) {
    Append(bytes, offset);
    Append(bytes, contents[i].size());
    Append(bytes, names[i].size());
    bytes.insert(bytes.end(), names[i].begin(), names[i].end());
    offset += contents[i].size();
  }
  bytes.resize(4096);
  for (const auto& content : contents) bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

TEST(CodeObjectTest, DescribesItsKernels) {
  auto object = CodeObject::Load(ObjectFor("gfx942"), Arch::kGfx942);
  ASSERT_TRUE(object.ok()) << object.status();
  const Kernel* kernel = (*object)->FindKernel("UniformIndex");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->ExplicitSize(), 28);
  ASSERT_GE(kernel->arguments.size(), 4u);
  EXPECT_EQ(kernel->arguments[3].offset, 24);
  EXPECT_EQ(kernel->arguments[3].size, 4);
  EXPECT_EQ((*object)->FindKernel("Nothing"), nullptr);
  const Variable* counter = (*object)->FindVariable("counter");
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(counter->size, 4u);
  EXPECT_EQ((*object)->image()[counter->offset], 40);
}

TEST(CodeObjectTest, RefusesTheOtherChip) {
  auto object = CodeObject::Load(ObjectFor("gfx950"), Arch::kGfx942);
  ASSERT_FALSE(object.ok());
  EXPECT_THAT(std::string(object.status().message()),
              HasSubstr("the code object is for gfx950, the device is a gfx942"));
}

TEST(CodeObjectTest, ChoosesFromABundle) {
  const std::vector<uint8_t> bundle = Bundle();
  for (const Arch arch : {Arch::kGfx942, Arch::kGfx950}) {
    auto object = CodeObject::Load(bundle, arch);
    ASSERT_TRUE(object.ok()) << object.status();
    EXPECT_EQ((*object)->arch(), arch);
  }
  EXPECT_EQ(*ImageSize(bundle.data()), bundle.size());
  std::vector<uint8_t> none = bundle;
  const std::string_view name = "gfx950";
  auto at = std::search(none.begin(), none.begin() + 4096, name.begin(), name.end());
  *(at + 5) = 'a';
  EXPECT_THAT(std::string(CodeObject::Load(none, Arch::kGfx950).status().message()),
              HasSubstr("no code object for gfx950; it has host-"));
}

TEST(CodeObjectTest, RefusesTruncatedFiles) {
  const std::vector<uint8_t> bytes = ObjectFor("gfx942");
  // Section headers stand at the end, and nothing here needs all of them: a cut may load where only
  // names or debug information are gone, but up to the code it must not.
  for (size_t size = 0; size < bytes.size(); size += size < 512 ? 13 : 499) {
    const auto object = CodeObject::Load(std::span(bytes).first(size), Arch::kGfx942);
    EXPECT_FALSE(object.ok()) << size << " of " << bytes.size() << " bytes";
  }
  const std::vector<uint8_t> bundle = Bundle();
  for (size_t size = 24; size < 300; ++size) {
    EXPECT_FALSE(CodeObject::Load(std::span(bundle).first(size), Arch::kGfx942).ok()) << size;
  }
}

TEST(CodeObjectTest, SurvivesDamage) {
  std::mt19937 random(1);
  const std::vector<uint8_t> bytes = ObjectFor("gfx942");
  for (int round = 0; round < 300; ++round) {
    std::vector<uint8_t> damaged = bytes;
    const size_t limit =
        round % 2 == 0 ? 0x1000 : damaged.size();  // headers and notes, or anywhere
    for (int i = 0; i < 3; ++i) damaged[random() % limit] = static_cast<uint8_t>(random());
    (void)CodeObject::Load(damaged, Arch::kGfx942);
  }
}

}  // namespace
}  // namespace lanewise::emulator

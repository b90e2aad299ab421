// Signatures of PTX modules, written after the PTX manual's grammar.

#include "hip/runtime/ptx_signature.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise::hip {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kModule[] = R"(
// .entry InAComment(
.version 7.0
.target sm_80
.address_size 64
  // .globl All
.visible .entry All(
  .param .u64 .ptr .align 1 All_param_0,
  .param .align 8 .b8 All_param_1[96],  // a structure
  .param .f32 All_param_2,
  .param .b16 All_param_3
)
.maxntid 256
{
  call.uni (retval0), other, (param0);
  ret;
}
.func (.param .b32 out) other (.param .b32 in) { ret; }
.entry Nothing() { ret; }
.entry Bare
{ ret; }
.entry One ( .param .u8 x ) { ret; }
)";

TEST(PtxSignature, ReadsEveryEntry) {
  const auto signatures = ReadPtxSignatures(kModule);
  ASSERT_TRUE(signatures.ok()) << signatures.status();
  EXPECT_EQ(signatures->size(), 4u);
  EXPECT_THAT(signatures->at("All"), ElementsAre(8, 96, 4, 2));
  EXPECT_THAT(signatures->at("Nothing"), IsEmpty());
  EXPECT_THAT(signatures->at("Bare"), IsEmpty());
  EXPECT_THAT(signatures->at("One"), ElementsAre(1));
}

TEST(PtxSignature, RefusesParametersWithoutASize) {
  for (const std::string bad : {".param .pred x", ".param .b8 x[0]", ".param .b8 x[", "x",
                                ".param .b8 x[many]", ".param .b99999999999999999999 x"}) {
    const auto signatures = ReadPtxSignatures(".version 7.0\n.entry K(" + bad + ") {}");
    EXPECT_EQ(signatures.status().code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(std::string(signatures.status().message()), HasSubstr("of no size: " + bad));
  }
}

TEST(PtxSignature, TellsPtxFromOtherBytes) {
  EXPECT_TRUE(IsPtx(kModule));
  EXPECT_TRUE(IsPtx(".version 8.0"));
  EXPECT_FALSE(IsPtx(""));
  EXPECT_FALSE(IsPtx("// .version 8.0"));
  EXPECT_FALSE(
      IsPtx(std::string("\x7f"
                        "ELF",
                        4)));
  EXPECT_FALSE(IsPtx(std::string(64, '\0')));
}

}  // namespace
}  // namespace lanewise::hip

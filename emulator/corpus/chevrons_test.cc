// kernel<<<...>>> launches: registration of the program's own code objects, arguments, dynamic LDS,
// grids, streams and device variables, on whichever device is current.

#include "emulator/corpus/chevrons.h"

#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "emulator/hip_api/control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/device.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip {
namespace {

class ChevronsTest : public testing::TestWithParam<const char*> {
 public:
  static std::string Name(const testing::TestParamInfo<const char*>& info) { return info.param; }

 protected:
  void SetUp() override {
    const auto device = Device::OfArch(GetParam());
    ASSERT_TRUE(device.ok()) << device.status();
    ASSERT_TRUE(device->MakeCurrent().ok());
    (void)hipGetLastError();
  }
  template <typename T>
  static Buffer Of(const std::vector<T>& values) {
    return *Buffer::Of(std::span<const T>(values), "values");
  }
  template <typename T>
  static T* Data(const Buffer& buffer) {
    return static_cast<T*>(buffer.data());
  }
};

TEST_P(ChevronsTest, TemplatesOnAStream) {
  const std::vector<float> floats = {1, -2, 0.5f, 100};
  const std::vector<int> ints(130, 3);
  const Stream stream = *Stream::Create();
  const Buffer in_floats = Of(floats), out_floats = Of(std::vector<float>(4, -1));
  const Buffer in_ints = Of(ints), out_ints = Of(std::vector<int>(130, -1));
  // The last float is not asked for.
  ScaleFloats(Data<float>(in_floats), Data<float>(out_floats), 1.5f, 3, stream.handle());
  ScaleInts(Data<int>(in_ints), Data<int>(out_ints), 7, 130, stream.handle());
  ASSERT_EQ(hipGetLastError(), hipSuccess);
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(*out_floats.Read<float>(), (std::vector<float>{1.5f, -3, 0.75f, -1}));
  EXPECT_EQ(*out_ints.Read<int>(), std::vector<int>(130, 21));
}

TEST_P(ChevronsTest, DynamicLds) {
  std::vector<int> values(200);
  std::iota(values.begin(), values.end(), 1);
  const Buffer in = Of(values), out = Of(std::vector<int>(200, -1));
  Reverse(Data<int>(in), Data<int>(out), 200);
  ASSERT_EQ(hipGetLastError(), hipSuccess);
  EXPECT_EQ(*out.Read<int>(), std::vector<int>(values.rbegin(), values.rend()));
}

TEST_P(ChevronsTest, GridsOfThreeDimensions) {
  std::vector<int> expected(30);
  std::iota(expected.begin(), expected.end(), 0);
  const Buffer out = Of(std::vector<int>(30, -1));
  NumberGrid(Data<int>(out));
  ASSERT_EQ(hipGetLastError(), hipSuccess);
  EXPECT_EQ(*out.Read<int>(), expected);
}

// Each device has the program's variables once.
TEST_P(ChevronsTest, DeviceVariables) {
  int value = 0;
  ASSERT_EQ(hipMemcpyFromSymbol(&value, CounterSymbol(), sizeof(value), 0, hipMemcpyDeviceToHost),
            hipSuccess);
  EXPECT_EQ(value, 40);
  CountItems(100);
  ASSERT_EQ(hipGetLastError(), hipSuccess);
  ASSERT_EQ(hipMemcpyFromSymbol(&value, CounterSymbol(), sizeof(value), 0, hipMemcpyDeviceToHost),
            hipSuccess);
  EXPECT_EQ(value, 140);
  value = 40;
  ASSERT_EQ(hipMemcpyToSymbol(CounterSymbol(), &value, sizeof(value), 0, hipMemcpyHostToDevice),
            hipSuccess);
  size_t size = 0;
  ASSERT_EQ(hipGetSymbolSize(&size, CounterSymbol()), hipSuccess);
  EXPECT_EQ(size, sizeof(int));
}

TEST_P(ChevronsTest, FailuresComeByTheLastError) {
  const Buffer in = Of(std::vector<float>(4, 1)), out = Of(std::vector<float>(2, -1));
  ScaleFloats(Data<float>(in), Data<float>(out), 1, 4, nullptr);
  EXPECT_NE(hipGetLastError(), hipSuccess);
  EXPECT_THAT(emulator::LastReport(), testing::HasSubstr("is outside of every allocation"));
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

INSTANTIATE_TEST_SUITE_P(Chips, ChevronsTest, testing::Values("gfx942", "gfx950"),
                         ChevronsTest::Name);

}  // namespace
}  // namespace lanewise::hip

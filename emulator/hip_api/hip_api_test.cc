// The HIP runtime API as an ordinary program calls it.

#include "third_party/hip_api.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "emulator/corpus/control_flow_o2.h"
#include "emulator/corpus/counting.h"
#include "emulator/hip_api/control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/embedded_code_object.h"

// Of hip_unsupported.cc: declared by HIP's header with arguments of its own types.
extern "C" hipError_t hipGraphDestroy(hipGraph_t graph);

namespace lanewise::emulator {
namespace {

using testing::HasSubstr;

const void* ImageFor(std::span<const hip::EmbeddedCodeObject> objects, const char* arch) {
  for (const hip::EmbeddedCodeObject& object : objects) {
    if (object.arch == arch) return object.bytes.data();
  }
  return nullptr;
}

class HipApiTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(hipSetDevice(0), hipSuccess); }
  void TearDown() override { (void)hipGetLastError(); }
};

TEST_F(HipApiTest, DevicesDescribeTheChips) {
  int count = 0;
  ASSERT_EQ(hipInit(0), hipSuccess);
  ASSERT_EQ(hipGetDeviceCount(&count), hipSuccess);
  ASSERT_EQ(count, 2);
  hipDeviceProp_t properties;
  ASSERT_EQ(hipGetDeviceProperties(&properties, 0), hipSuccess);
  EXPECT_STREQ(properties.gcnArchName, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(properties.warpSize, 64);
  ASSERT_EQ(hipGetDeviceProperties(&properties, 1), hipSuccess);
  EXPECT_STREQ(properties.gcnArchName, "gfx950:sramecc+:xnack-");
  EXPECT_EQ(properties.sharedMemPerBlock, 163840u);
  int value = 0;
  ASSERT_EQ(hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0), hipSuccess);
  EXPECT_EQ(value, 304);
  std::array<char, 64> name{};
  ASSERT_EQ(hipDeviceGetName(name.data(), 64, 1), hipSuccess);
  EXPECT_THAT(std::string(name.data()), HasSubstr("MI355X"));
  EXPECT_EQ(hipSetDevice(2), hipErrorInvalidDevice);
  EXPECT_EQ(hipPeekAtLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

TEST_F(HipApiTest, CopiesOfAllKinds) {
  std::array<uint32_t, 8> values = {1, 2, 3, 4, 5, 6, 7, 8};
  std::array<uint32_t, 8> back{};
  void* a = nullptr;
  void* b = nullptr;
  ASSERT_EQ(hipMalloc(&a, 32), hipSuccess);
  ASSERT_EQ(hipMalloc(&b, 32), hipSuccess);
  ASSERT_EQ(hipMemcpy(a, values.data(), 32, hipMemcpyHostToDevice), hipSuccess);
  ASSERT_EQ(hipMemcpyAsync(b, a, 32, hipMemcpyDeviceToDevice, nullptr), hipSuccess);
  ASSERT_EQ(hipMemcpyDtoH(back.data(), b, 32), hipSuccess);
  EXPECT_EQ(back, values);
  // Two rows of two words, out of rows of four.
  ASSERT_EQ(hipMemset(b, 0, 32), hipSuccess);
  ASSERT_EQ(hipMemcpy2D(b, 8, a, 16, 8, 2, hipMemcpyDeviceToDevice), hipSuccess);
  ASSERT_EQ(hipMemcpy(back.data(), b, 32, hipMemcpyDefault), hipSuccess);
  EXPECT_EQ(back, (std::array<uint32_t, 8>{1, 2, 5, 6, 0, 0, 0, 0}));
  ASSERT_EQ(hipMemsetD32(b, 0x01020304, 8), hipSuccess);
  ASSERT_EQ(hipMemsetD16(b, 0x0506, 2), hipSuccess);
  ASSERT_EQ(hipMemcpy(back.data(), b, 32, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(back[0], 0x05060506u);
  EXPECT_EQ(back[1], 0x01020304u);
  // Past the end, and into what is no device memory.
  EXPECT_EQ(hipMemcpy(a, values.data(), 33, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_THAT(LastReport(), HasSubstr("the destination's 33 bytes are not within one allocation"));
  EXPECT_EQ(hipMemcpy(back.data(), values.data(), 4, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  EXPECT_EQ(hipMemset(values.data(), 0, 4), hipErrorInvalidValue);
  ASSERT_EQ(hipFree(a), hipSuccess);
  ASSERT_EQ(hipFree(b), hipSuccess);
  EXPECT_EQ(hipFree(b), hipErrorInvalidValue);
  EXPECT_EQ(hipFree(nullptr), hipSuccess);
}

TEST_F(HipApiTest, PointersKnowTheirDevice) {
  void* device = nullptr;
  void* host = nullptr;
  ASSERT_EQ(hipSetDevice(1), hipSuccess);
  ASSERT_EQ(hipMalloc(&device, 100), hipSuccess);
  ASSERT_EQ(hipHostMalloc(&host, 100, 0), hipSuccess);
  hipPointerAttribute_t attributes;
  ASSERT_EQ(hipPointerGetAttributes(&attributes, static_cast<char*>(device) + 50), hipSuccess);
  EXPECT_EQ(attributes.device, 1);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  ASSERT_EQ(hipPointerGetAttributes(&attributes, host), hipSuccess);
  EXPECT_EQ(attributes.hostPointer, host);
  EXPECT_EQ(hipPointerGetAttributes(&attributes, &attributes), hipErrorInvalidValue);
  ASSERT_EQ(hipFree(device), hipSuccess);
  ASSERT_EQ(hipHostFree(host), hipSuccess);
}

TEST_F(HipApiTest, LaunchesWithPointersAndWithABuffer) {
  hipModule_t module;
  hipFunction_t function;
  ASSERT_EQ(hipModuleLoadData(&module, ImageFor(hip::CountingCodeObjects(), "gfx942")), hipSuccess);
  ASSERT_EQ(hipModuleGetFunction(&function, module, "Strided"), hipSuccess);
  EXPECT_EQ(hipModuleGetFunction(&function, module, "Nothing"), hipErrorNotFound);
  int registers = 0;
  ASSERT_EQ(hipFuncGetAttribute(&registers, HIP_FUNC_ATTRIBUTE_NUM_REGS, function), hipSuccess);
  EXPECT_GT(registers, 0);
  std::array<uint32_t, 64> values;
  for (uint32_t i = 0; i < 64; ++i) values[i] = 3 * i;
  void* in = nullptr;
  void* out = nullptr;
  ASSERT_EQ(hipMalloc(&in, 256), hipSuccess);
  ASSERT_EQ(hipMallocManaged(&out, 256, hipMemAttachGlobal), hipSuccess);
  ASSERT_EQ(hipMemcpy(in, values.data(), 256, hipMemcpyHostToDevice), hipSuccess);
  struct {
    void* in;
    void* out;
    uint32_t stride;
    uint32_t n;
  } arguments = {in, out, 1, 64};
  void* pointers[] = {&arguments.in, &arguments.out, &arguments.stride, &arguments.n};
  ASSERT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, pointers, nullptr),
            hipSuccess);
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(std::memcmp(out, values.data(), 256), 0);  // managed: the host may look itself
  std::memset(out, 0, 256);
  size_t size = sizeof(arguments);
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  ASSERT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra),
            hipSuccess);
  EXPECT_EQ(std::memcmp(out, values.data(), 256), 0);
  size = 4;
  EXPECT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra),
            hipErrorInvalidValue);
  EXPECT_THAT(LastReport(), HasSubstr("4 bytes of arguments, it takes 24"));
  ASSERT_EQ(hipFree(in), hipSuccess);
  ASSERT_EQ(hipFree(out), hipSuccess);
  ASSERT_EQ(hipModuleUnload(module), hipSuccess);
}

TEST_F(HipApiTest, AnotherDevicesMemoryIsOutOfReach) {
  void* elsewhere = nullptr;
  ASSERT_EQ(hipSetDevice(1), hipSuccess);
  ASSERT_EQ(hipMalloc(&elsewhere, 256), hipSuccess);
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  hipModule_t module;
  hipFunction_t function;
  ASSERT_EQ(hipModuleLoadData(&module, ImageFor(hip::CountingCodeObjects(), "gfx942")), hipSuccess);
  ASSERT_EQ(hipModuleGetFunction(&function, module, "OneAtomic"), hipSuccess);
  void* pointers[] = {&elsewhere};
  EXPECT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, pointers, nullptr),
            hipErrorLaunchFailure);
  EXPECT_THAT(LastReport(), HasSubstr("outside of every allocation"));
  ASSERT_EQ(hipModuleUnload(module), hipSuccess);
  ASSERT_EQ(hipFree(elsewhere), hipSuccess);
}

TEST_F(HipApiTest, ModulesFromFilesAndTheirVariables) {
  const std::string path = testing::TempDir() + "/control_flow.hsaco";
  for (const hip::EmbeddedCodeObject& object : hip::ControlFlowO2CodeObjects()) {
    if (object.arch != "gfx942") continue;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(object.bytes.data()),
               static_cast<std::streamsize>(object.bytes.size()));
  }
  hipModule_t module;
  ASSERT_EQ(hipModuleLoad(&module, path.c_str()), hipSuccess);
  hipDeviceptr_t counter = nullptr;
  size_t size = 0;
  ASSERT_EQ(hipModuleGetGlobal(&counter, &size, module, "counter"), hipSuccess);
  ASSERT_EQ(size, 4u);
  int value = 0;
  ASSERT_EQ(hipMemcpyDtoH(&value, counter, 4), hipSuccess);
  EXPECT_EQ(value, 40);
  EXPECT_EQ(hipModuleGetGlobal(&counter, &size, module, "nothing"), hipErrorNotFound);
  ASSERT_EQ(hipModuleUnload(module), hipSuccess);
  EXPECT_EQ(hipModuleLoad(&module, "/no/such/file"), hipErrorFileNotFound);
  EXPECT_EQ(hipModuleLoadData(&module, ImageFor(hip::CountingCodeObjects(), "gfx950")),
            hipErrorInvalidImage);
}

TEST_F(HipApiTest, StreamsAndEvents) {
  hipStream_t stream;
  hipEvent_t begin, end, untimed;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
  ASSERT_EQ(hipEventCreate(&begin), hipSuccess);
  ASSERT_EQ(hipEventCreate(&end), hipSuccess);
  ASSERT_EQ(hipEventCreateWithFlags(&untimed, hipEventDisableTiming), hipSuccess);
  ASSERT_EQ(hipEventRecord(begin, stream), hipSuccess);
  ASSERT_EQ(hipEventRecord(end, stream), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(stream, begin, 0), hipSuccess);
  ASSERT_EQ(hipStreamQuery(stream), hipSuccess);
  ASSERT_EQ(hipEventQuery(end), hipSuccess);
  float milliseconds = -1;
  ASSERT_EQ(hipEventElapsedTime(&milliseconds, begin, end), hipSuccess);
  EXPECT_GE(milliseconds, 0.0f);
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, begin, untimed), hipErrorInvalidHandle);
  int called = 0;
  ASSERT_EQ(hipLaunchHostFunc(
                stream, [](void* data) { ++*static_cast<int*>(data); }, &called),
            hipSuccess);
  EXPECT_EQ(called, 1);
  ASSERT_EQ(hipEventDestroy(begin), hipSuccess);
  ASSERT_EQ(hipEventDestroy(end), hipSuccess);
  ASSERT_EQ(hipEventDestroy(untimed), hipSuccess);
  ASSERT_EQ(hipStreamDestroy(stream), hipSuccess);
}

TEST_F(HipApiTest, UnsupportedFunctionsSayTheirName) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(hipGraphDestroy(nullptr), hipErrorNotSupported);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("hipGraphDestroy: "));
}

TEST_F(HipApiTest, ErrorsHaveNames) {
  EXPECT_STREQ(hipGetErrorName(hipErrorInvalidValue), "hipErrorInvalidValue");
  EXPECT_STREQ(hipGetErrorString(hipSuccess), "no error");
  EXPECT_STREQ(hipGetErrorName(static_cast<hipError_t>(12345)), "hipErrorUnknown");
}

}  // namespace
}  // namespace lanewise::emulator

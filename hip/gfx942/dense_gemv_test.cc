// The dense GEMV on the emulated gfx942 against its Planned reference, bit for bit: every number of
// tokens, awkward shapes and values, loads, refusals. Models' shapes, chunk_q and random draws are
// //tests/differential's.

#include "hip/gfx942/dense_gemv.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "emulator/hip_api/control.h"
#include "formats/formats.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/common/launcher_test.h"
#include "reference/gemm/test_matrices.h"
#include "reference/gfx942/dense.h"
#include "reference/gfx942/dense_gemv.h"

namespace lanewise::hip::gfx942 {
namespace {

namespace judge = reference::gfx942;
using reference::Mx;
using testing::HasSubstr;
using Plan = DenseGemv::Plan;

// Columns [first, first + count) or rows, as a matrix of its own.
template <class T>
Tensor<T, 2> Part(const Tensor<T, 2>& matrix, int64_t row, int64_t rows, int64_t column,
                  int64_t columns) {
  Tensor<T, 2> part(rows, columns);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) part(r, c) = matrix(row + r, column + c);
  }
  return part;
}

judge::DenseGemvPlan JudgePlan(const DenseGemv::Problem& problem) {
  if (problem.plan == Plan::kGrouped) return judge::kGroupedPlan;
  judge::DenseGemvPlan plan = judge::kDensePlan;
  if (problem.plan == Plan::kSplit) plan.splits = static_cast<int>(problem.splits);
  return plan;
}

// A problem's data. w has its rows rounded up to 32, so that block scales fit the reference.
struct Data {
  Tensor<Bf16, 2> x;  // [m, groups * k]
  Mx w;               // FNUZ, [n, k]
  Tensor<uint8_t, 2> bytes;
  Tensor<uint8_t, 2> codes;
};

Data Draw(const DenseGemv::Problem& p, int lowest_code, int highest_code, int spread,
          std::mt19937* random) {
  const int64_t rows = (p.n + 31) / 32 * 32;
  const Mx ocp = reference::RandomMx(ElementFormat::kE4m3Fn, rows, p.k, rows / 32, lowest_code,
                                     highest_code, random);
  const auto copied = judge::DenseCopy(ocp.elements, ocp.codes, judge::ChunkOrder::kNatural);
  EXPECT_TRUE(copied.ok()) << copied.status();
  return {reference::RandomBf16(p.m, p.groups * p.k, spread, random),
          reference::OwnedMx(ElementFormat::kE4m3Fnuz, *judge::FnuzWeight(ocp.view())),
          copied->bytes, copied->codes};
}

Tensor<float, 2> Expected(const DenseGemv::Problem& p, const Data& data) {
  const Tensor<uint8_t, 2>& w = data.w.elements;
  Tensor<float, 2> expected(p.m, p.n);
  const int64_t rows = p.groups == 1 ? w.dimension(0) : p.n / p.groups;
  for (int64_t g = 0; g < p.groups; ++g) {
    const Mx part = {data.w.format, Part(w, g * rows, rows, 0, p.k),
                     Part(data.w.codes, g * rows / 32, rows / 32, 0, p.k / 32)};
    const auto out =
        judge::DenseGemv(Part(data.x, 0, p.m, g * p.k, p.k), part.view(), JudgePlan(p));
    EXPECT_TRUE(out.ok()) << out.status();
    for (int64_t m = 0; m < p.m; ++m) {
      for (int64_t n = 0; n < p.n / p.groups; ++n) {
        expected(m, g * (p.n / p.groups) + n) = (*out)(m, n);
      }
    }
  }
  return expected;
}

class DenseGemvTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    auto kernels = DenseGemv::Load(device());
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    gemv_.emplace(*std::move(kernels));
  }

  template <class T>
  static std::vector<T> Rows(const Tensor<T, 2>& matrix, int64_t rows, int64_t stride, T gap) {
    std::vector<T> values(static_cast<size_t>(rows * stride), gap);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < matrix.dimension(1); ++c) {
        values[static_cast<size_t>(r * stride + c)] = matrix(r, c);
      }
    }
    return values;
  }

  // Runs the problem; buffers are exactly as large as they must be, and poisoned.
  void Run(const DenseGemv::Problem& p, const Data& data, std::vector<uint8_t>* out) {
    const auto cost = DenseGemv::Cost(p);
    ASSERT_TRUE(cost.ok()) << cost.status();
    const int64_t padded_k = data.bytes.dimension(1);
    const std::vector<uint8_t> w(data.bytes.data(), data.bytes.data() + p.n * padded_k);
    const std::vector<uint8_t> codes(data.codes.data(), data.codes.data() + data.codes.size());
    const int64_t x_stride = p.x_stride == 0 ? p.groups * p.k : p.x_stride;
    const auto x_values = Rows(data.x, p.m, x_stride, Bf16::Nan());
    const Buffer x_buffer = In(x_values, "x");
    const Buffer w_buffer = In(w, "weights");
    const Buffer codes_buffer = In(codes, "weight codes");
    const int64_t out_stride = p.out_stride == 0 ? p.n : p.out_stride;
    const Buffer out_buffer = Out(p.m * out_stride * FloatBytes(p.out), "out");
    const Buffer workspace = Out(cost->workspace_bytes, "workspace");
    const absl::Status status =
        gemv_->Launch(p,
                      {x_buffer.data(), w_buffer.data(), codes_buffer.data(), out_buffer.data(),
                       workspace.data()},
                      stream());
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(stream().Synchronize().ok());
    *out = Read(out_buffer);
    ASSERT_EQ(Read(w_buffer), w) << "w has changed";
    const auto x_after = Read<uint16_t>(x_buffer);
    ASSERT_EQ(std::memcmp(x_after.data(), x_values.data(), 2 * x_values.size()), 0)
        << "x has changed";
  }

  void Compare(const DenseGemv::Problem& p, const Data& data) {
    SCOPED_TRACE(testing::Message()
                 << "M " << p.m << ", N " << p.n << ", K " << p.k << ", groups " << p.groups
                 << ", plan " << static_cast<int>(p.plan) << ", splits " << p.splits
                 << (p.out == FloatType::kBf16 ? ", bf16" : ", f32"));
    std::vector<uint8_t> out;
    Run(p, data, &out);
    if (HasFatalFailure()) return;
    const Tensor<float, 2> expected = Expected(p, data);
    const int64_t stride = p.out_stride == 0 ? p.n : p.out_stride;
    const auto size = static_cast<size_t>(FloatBytes(p.out));
    for (int64_t m = 0; m < p.m; ++m) {
      for (int64_t n = 0; n < stride; ++n) {
        const uint8_t* const at = &out[static_cast<size_t>(m * stride + n) * size];
        if (n >= p.n) {
          ASSERT_TRUE(std::all_of(at, at + size, [](uint8_t b) { return b == kPoison; }))
              << "written between rows at [" << m << ", " << n << "]";
          continue;
        }
        float want = expected(m, n);
        uint32_t got_bits = 0;
        std::memcpy(&got_bits, at, size);
        if (p.out == FloatType::kBf16) {
          want = Bf16::FromFloat(want).ToFloat();
          got_bits <<= 16;
        }
        const auto got = std::bit_cast<float>(got_bits);
        ASSERT_TRUE(reference::SameNumber(got, want))
            << "[" << m << ", " << n << "] is " << std::hexfloat << got << ", expected " << want;
      }
    }
  }

  void DrawAndCompare(const DenseGemv::Problem& p, int lowest = 118, int highest = 128,
                      int spread = 3) {
    const uint64_t seed = NewSeed();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(static_cast<uint32_t>(seed));
    Compare(p, Draw(p, lowest, highest, spread, &random));
  }

  std::optional<DenseGemv> gemv_;
};

INSTANTIATE_TEST_SUITE_P(Chip, DenseGemvTest, testing::Values("gfx942"), LauncherTest::Name);

TEST_P(DenseGemvTest, EveryNumberOfTokens) {
  for (int64_t m = 1; m <= 16; ++m) {
    DrawAndCompare({.m = m, .n = 32, .k = 1280, .out = FloatType::kF32});
  }
  for (const int64_t m : {17, 33}) {
    for (const Plan plan : {Plan::kDense, Plan::kGrouped, Plan::kSplit}) {
      DrawAndCompare({.m = m, .n = 64, .k = 576, .plan = plan, .out = FloatType::kF32});
    }
  }
}

TEST_P(DenseGemvTest, HostileShapes) {
  for (const int64_t k : {32, 160, 576, 1664, 1824, 2880}) {
    for (const int64_t n : {16, 48, 96}) {
      for (const Plan plan : {Plan::kDense, Plan::kGrouped, Plan::kSplit}) {
        DrawAndCompare({.m = 3, .n = n, .k = k, .plan = plan, .out = FloatType::kF32});
      }
    }
  }
  DrawAndCompare({.m = 2, .n = 1296, .k = 160});
  DrawAndCompare({.m = 5, .n = 1296, .k = 160, .plan = Plan::kGrouped});
  // More splits than steps; more than 64 steps a wave; groups by every plan; rows with gaps.
  DrawAndCompare({.m = 2, .n = 32, .k = 576, .plan = Plan::kSplit, .splits = 7});
  DrawAndCompare(
      {.m = 16, .n = 32, .k = 1664, .plan = Plan::kSplit, .splits = 5, .out = FloatType::kF32});
  DrawAndCompare({.m = 1, .n = 16, .k = 8 * 64 * 128 + 160, .out = FloatType::kF32});
  DrawAndCompare({.m = 1, .n = 16, .k = 4 * 66 * 128, .plan = Plan::kGrouped});
  for (const Plan plan : {Plan::kDense, Plan::kGrouped, Plan::kSplit}) {
    DrawAndCompare({.m = 18,
                    .n = 96,
                    .k = 288,
                    .groups = 3,
                    .plan = plan,
                    .x_stride = 3 * 288 + 8,
                    .out_stride = 99});
  }
}

// Codes of 0 to 255 on both sides, so that sums of codes and results leave every range; -0, NaN
// and Inf in x; zero blocks; rows of small numbers only.
TEST_P(DenseGemvTest, ExtremeCodesAndValues) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (const Plan plan : {Plan::kDense, Plan::kGrouped, Plan::kSplit}) {
    for (const bool nans : {false, true}) {
      const DenseGemv::Problem p = {
          .m = 16, .n = 64, .k = 1696, .plan = plan, .out = FloatType::kF32};
      Data data = Draw(p, 0, 249, 120, &random);
      for (int64_t i = 0; i < data.w.codes.size(); ++i) {
        // Few blocks of large codes, so that not all results are infinite.
        const int64_t row = i / data.w.codes.dimension(1), block = i % data.w.codes.dimension(1);
        const int code = static_cast<int>(random() % (random() % 16 == 0 ? 255 : 130));
        data.w.codes(row, block) = static_cast<uint8_t>(code);
      }
      if (nans) data.w.codes(1, 7) = 255;
      for (int64_t row = 0; row < 2; ++row) {
        for (int64_t block = 0; block < p.k / 32; ++block) {
          data.codes(row, block) = data.w.codes(row, block);
        }
      }
      for (int64_t m = 0; m < p.m; ++m) {
        // A token's exponents about one of its own, from the subnormals to the top.
        const int about = static_cast<int>(m) * 15 - 120;
        for (int64_t k = 0; k < p.k; ++k) {
          const float value = std::ldexp(data.x(m, k).ToFloat(), -120);  // At most 2^1.
          data.x(m, k) = Bf16::FromFloat(std::ldexp(value, 120 + about) * (random() % 2 ? 1 : -1));
        }
        const auto zero = static_cast<int64_t>(random() % static_cast<uint64_t>(p.k / 32));
        for (int64_t k = 32 * zero; k < 32 * zero + 32; ++k) data.x(m, k) = Bf16::FromFloat(-0.0f);
      }
      for (int64_t k = 0; k < p.k; ++k) data.x(4, k) = Bf16::FromFloat(0);
      for (int64_t k = 0; k < p.k; ++k) data.x(5, k) = Bf16::FromFloat(0x1p-133f);
      if (nans) {
        data.x(2, 100) = Bf16::Nan();
        data.x(3, 900) = Bf16::FromFloat(INFINITY);
      }
      Compare(p, data);
    }
  }
}

// 256 + r has 9 significant bits: odd ones lie in the middle of two bfloat16 numbers.
TEST_P(DenseGemvTest, RoundsTiesToEven) {
  const DenseGemv::Problem p = {.m = 1, .n = 16, .k = 32};
  Mx ocp = {ElementFormat::kE4m3Fn, Tensor<uint8_t, 2>(32, 32), Tensor<uint8_t, 2>(1, 1)};
  ocp.elements.setZero();
  ocp.codes.setConstant(127);
  for (int r = 0; r < 16; ++r) {
    ocp.elements(r, 0) = E4m3Fn::FromFloat(16).bits();
    ocp.elements(r, 1) = E4m3Fn::FromFloat(static_cast<float>(r)).bits();
  }
  const auto copied = judge::DenseCopy(ocp.elements, ocp.codes, judge::ChunkOrder::kNatural);
  ASSERT_TRUE(copied.ok());
  Data data = {Tensor<Bf16, 2>(1, 32),
               reference::OwnedMx(ElementFormat::kE4m3Fnuz, *judge::FnuzWeight(ocp.view())),
               copied->bytes, copied->codes};
  data.x.setConstant(Bf16::FromFloat(0));
  data.x(0, 0) = Bf16::FromFloat(16);
  data.x(0, 1) = Bf16::FromFloat(1);
  std::vector<uint8_t> out;
  Run(p, data, &out);
  for (int r = 0; r < 16; ++r) {
    // To a multiple of 2; of the two at the same distance, the multiple of 4.
    const int nearest = 256 + (r % 2 == 0 ? r : r % 4 == 1 ? r - 1 : r + 1);
    uint16_t bits;
    std::memcpy(&bits, &out[2 * static_cast<size_t>(r)], 2);
    EXPECT_EQ(std::bit_cast<float>(uint32_t{bits} << 16), static_cast<float>(nearest)) << r;
  }
  Compare(p, data);
}

TEST_P(DenseGemvTest, RunsAreEqualAndNothingIsNoWork) {
  std::mt19937 random(7);
  const DenseGemv::Problem p = {.m = 9, .n = 48, .k = 1184, .plan = Plan::kSplit, .splits = 3};
  const Data data = Draw(p, 118, 128, 3, &random);
  std::vector<uint8_t> first, second;
  Run(p, data, &first);
  Run(p, data, &second);
  EXPECT_EQ(first, second);
  EXPECT_TRUE(gemv_->Launch({.m = 0, .n = 16, .k = 32}, {}, stream()).ok());
  EXPECT_TRUE(gemv_->Launch({.m = 3, .n = 0, .k = 32}, {}, stream()).ok());
  // A sum of nothing.
  const Buffer out = Out(3 * 32 * 4);
  for (const Plan plan : {Plan::kDense, Plan::kGrouped}) {
    ASSERT_TRUE(gemv_
                    ->Launch({.m = 3, .n = 32, .k = 0, .plan = plan, .out = FloatType::kF32},
                             {nullptr, nullptr, nullptr, out.data(), nullptr}, stream())
                    .ok());
    EXPECT_EQ(Read<uint32_t>(out), std::vector<uint32_t>(3 * 32));
  }
}

// Each line of the weights is fetched once, 8 a load: every load of a wave is 1 KiB without a gap.
TEST_P(DenseGemvTest, LoadsAreContiguous) {
  std::mt19937 random(8);
  for (const Plan plan : {Plan::kDense, Plan::kGrouped, Plan::kSplit}) {
    const DenseGemv::Problem p = {.m = 16, .n = 64, .k = 1824, .plan = plan};
    const Data data = Draw(p, 118, 128, 3, &random);
    std::vector<uint8_t> out;
    emulator::StartRecording();
    Run(p, data, &out);
    const emulator::Recording recording = emulator::StopRecording();
    const auto cost = DenseGemv::Cost(p);
    ASSERT_TRUE(cost.ok());
    EXPECT_EQ(static_cast<int64_t>(recording.launches.size()), cost->launches);
    const emulator::AllocationTraffic weights = recording.Named("weights");
    const uint64_t bytes = 64 * 1920;
    EXPECT_EQ(weights.loads.bytes, bytes);
    EXPECT_EQ(weights.load_instructions, bytes / 1024);
    EXPECT_EQ(weights.loads.lines, bytes / 128);
    EXPECT_EQ(weights.distinct_lines, bytes / 128);
    EXPECT_EQ(static_cast<int64_t>(bytes) + 2 * 60, cost->weight_bytes);
    for (const emulator::LaunchRecord& launch : recording.launches) {
      EXPECT_EQ(launch.counters.lds_bank_conflicts, 0u) << launch.kernel;
      EXPECT_EQ(launch.counters.scratch_bytes, 0u) << launch.kernel;
    }
  }
}

TEST_P(DenseGemvTest, RefusesByName) {
  const Buffer memory = Out(1 << 16);
  auto* const at = static_cast<uint8_t*>(memory.data());
  const DenseGemv::Operands operands = {at, at, at, at, at};
  const auto message = [&](const DenseGemv::Problem& problem, const DenseGemv::Operands& given) {
    const absl::Status status = gemv_->Launch(problem, given, stream());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const DenseGemv::Problem good = {.m = 1, .n = 32, .k = 64};
  const auto with = [&](const std::function<void(DenseGemv::Problem&)>& change) {
    DenseGemv::Problem problem = good;
    change(problem);
    return message(problem, operands);
  };
  using P = DenseGemv::Problem;
  EXPECT_THAT(with([](P& p) { p.w_layout = "gfx942/fp4_tile_major"; }),
              HasSubstr("w is in layout \"gfx942/fp4_tile_major\", expected gfx942/dense or"));
  EXPECT_THAT(with([](P& p) { p.codes_layout = "gfx942/row_codes"; }),
              HasSubstr("w_codes are in layout \"gfx942/row_codes\", expected gfx942/dense_codes"));
  EXPECT_THAT(with([](P& p) { p.n = 40; }), HasSubstr("N is 40"));
  EXPECT_THAT(with([](P& p) { p.n = int64_t{1} << 27; }), HasSubstr("N is 134217728"));
  EXPECT_THAT(with([](P& p) { p.groups = 4; }), HasSubstr("16 rows for each of 4 groups"));
  EXPECT_THAT(with([](P& p) { p.k = 48; }), HasSubstr("K is 48"));
  EXPECT_THAT(with([](P& p) { p.k = int64_t{1} << 40; }), HasSubstr("K is 1099511627776"));
  EXPECT_THAT(with([](P& p) { p.m = -1; }), HasSubstr("M is -1"));
  EXPECT_THAT(with([](P& p) { p.m = 65536; }), HasSubstr("M is 65536"));
  EXPECT_THAT(with([](P& p) { p.splits = 0; }), HasSubstr("splits is 0"));
  EXPECT_THAT(with([](P& p) { p.x_stride = 68; }), HasSubstr("x_stride is 68"));
  EXPECT_THAT(with([](P& p) { p.out_stride = 31; }), HasSubstr("out_stride is 31"));
  EXPECT_THAT(with([](P& p) { p.out_stride = std::numeric_limits<int64_t>::max(); }),
              HasSubstr("up to 2^40"));
  EXPECT_THAT(with([](P& p) { p.x_stride = std::numeric_limits<int64_t>::max() - 7; }),
              HasSubstr("up to 2^40"));
  EXPECT_THAT(with([](P& p) { p.out = FloatType::kF16; }), HasSubstr("out is f16"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(with([&](P& p) { p.gated = Swiglu{.limit = nan}; }), HasSubstr("gated.limit is nan"));
  EXPECT_THAT(with([&](P& p) { p.gated = Swiglu{.alpha = nan}; }), HasSubstr("gated.alpha is nan"));
  EXPECT_THAT(with([&](P& p) { p.gated = Swiglu{.up_offset = nan}; }),
              HasSubstr("gated.up_offset is nan"));
  EXPECT_THAT(message(good, {at + 8, at, at, at, at}), HasSubstr("dense_gemv: x is at"));
  EXPECT_THAT(message(good, {at, at + 64, at, at, at}), HasSubstr("dense_gemv: w is at"));
  EXPECT_THAT(message(good, {at, at, at + 2, at, at}), HasSubstr("dense_gemv: w_codes is at"));
  EXPECT_THAT(message(good, {at, at, at, nullptr, at}), HasSubstr("out is a null pointer"));
  EXPECT_THAT(message(good, {at, at, at, at, at + 16}), HasSubstr("dense_gemv: workspace is at"));
  EXPECT_EQ(DenseGemv::Load(*Device::OfArch("gfx950")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(Read(memory), std::vector<uint8_t>(1 << 16, kPoison));
}

TEST_P(DenseGemvTest, CostIsArithmetic) {
  const auto cost = DenseGemv::Cost({.m = 4, .n = 1792, .k = 5120, .plan = Plan::kSplit});
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->weight_bytes, 1792 * 5120 + 56 * 160);
  EXPECT_EQ(cost->activation_bytes, 4 * 5120 * 2);
  EXPECT_EQ(cost->output_bytes, 4 * 1792 * 2);
  EXPECT_EQ(cost->workspace_bytes, 4 * 5120 + 4 * 160 + 2 * 4 * 1792 * 4);
  EXPECT_EQ(cost->launches, 3);
}

}  // namespace
}  // namespace lanewise::hip::gfx942

#include "checkpoint/rewrite/quantize.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "checkpoint/safetensors/safetensors_index.h"
#include "checkpoint/safetensors/safetensors_writer.h"
#include "checkpoint/safetensors/tensor_set.h"
#include "formats/formats.h"
#include "gtest/gtest.h"
#include "reference/quantize/mx.h"
#include "reference/tensor.h"

namespace lanewise {
namespace {

using reference::Quantized;

Tensor<float, 2> Random(std::int64_t rows, std::int64_t k, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.02f);
  Tensor<float, 2> x(rows, k);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.data()[i] = random() % 50 == 0 ? 0.0f : normal(random);
  }
  return x;
}

template <class T>
std::string Bytes(const Tensor<T, 2>& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()),
          static_cast<std::size_t>(tensor.size()) * sizeof(T)};
}

template <class Narrow>
Tensor<Narrow, 2> To(const Tensor<float, 2>& x) {
  Tensor<Narrow, 2> narrow(x.dimension(0), x.dimension(1));
  for (std::int64_t i = 0; i < x.size(); ++i) narrow.data()[i] = Narrow::FromFloat(x.data()[i]);
  return narrow;
}
template <class Narrow>
Tensor<float, 2> ToFloat(const Tensor<Narrow, 2>& x) {
  Tensor<float, 2> wide(x.dimension(0), x.dimension(1));
  for (std::int64_t i = 0; i < x.size(); ++i) wide.data()[i] = x.data()[i].ToFloat();
  return wide;
}

struct Written {
  TensorSpec spec;
  std::string bytes;
};

void WriteFile(const std::string& path, const std::vector<Written>& tensors,
               const std::map<std::string, std::string>& metadata = {}) {
  std::vector<TensorSpec> specs;
  for (const Written& tensor : tensors) specs.push_back(tensor.spec);
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(path, specs, metadata);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ASSERT_TRUE(writer->Write(i, 0, AsBytes(tensors[i].bytes)).ok());
  }
  ASSERT_TRUE(writer->Finish().ok());
}

void ExpectTensor(const TensorSet& set, const std::string& name, DType dtype,
                  const std::vector<std::int64_t>& shape, const std::string& bytes) {
  const TensorSet::Tensor* tensor = set.Find(name);
  ASSERT_NE(tensor, nullptr) << name;
  EXPECT_EQ(tensor->info->dtype, dtype) << name;
  EXPECT_EQ(tensor->info->shape, shape) << name;
  const std::span<const std::uint8_t> found = set.Bytes(*tensor);
  ASSERT_EQ(found.size(), bytes.size()) << name;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(found[i], static_cast<std::uint8_t>(bytes[i])) << name << " byte " << i;
  }
}

// A checkpoint of three dtypes, with tensors that stay as they are. 700 rows are several chunks of
// tasks.
class QuantizeTest : public testing::Test {
 protected:
  void SetUp() override {
    in_ = directory_.File("in.safetensors");
    out_ = directory_.File("out.safetensors");
    WriteFile(in_,
              {{{"a.q_proj.weight", DType::kF32, {700, 96}}, Bytes(f32_)},
               {{"a.k_proj.weight", DType::kBf16, {2, 32, 64}}, Bytes(To<Bf16>(bf16_))},
               {{"a.v_proj.weight", DType::kF16, {32, 32}}, Bytes(To<F16>(f16_))},
               {{"a.norm.weight", DType::kF32, {32}}, Bytes(Random(1, 32, 4))},
               {{"a.odd.weight", DType::kF32, {4, 40}}, Bytes(Random(4, 40, 5))},
               {{"embed.weight", DType::kF32, {4, 32}}, Bytes(Random(4, 32, 6))},
               {{"a.q_proj.bias", DType::kF32, {1, 32}}, Bytes(Random(1, 32, 7))}},
              {{"note", "kept"}});
  }

  QuantizeRequest Request(ElementFormat format) const {
    QuantizeRequest request;
    request.in = in_;
    request.out = out_;
    request.options = DefaultMxOptions(format);
    return request;
  }

  TestDirectory directory_;
  std::string in_, out_;
  Tensor<float, 2> f32_ = Random(700, 96, 1);
  Tensor<float, 2> bf16_ = ToFloat(To<Bf16>(Random(64, 64, 2)));
  Tensor<float, 2> f16_ = ToFloat(To<F16>(Random(32, 32, 3)));
};

TEST_F(QuantizeTest, TensorsAreWhatQuantizeGives) {
  for (const ElementFormat format : {ElementFormat::kE4m3Fn, ElementFormat::kE2m1}) {
    QuantizeRequest request = Request(format);
    request.rules.overwrite = true;
    const absl::StatusOr<QuantizeReport> report = QuantizeCheckpoint(request, nullptr);
    ASSERT_TRUE(report.ok()) << report.status();
    const absl::StatusOr<TensorSet> set = TensorSet::Open(out_);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->shards()[0].file.metadata().at("note"), "kept");
    const DType dtype = format == ElementFormat::kE2m1 ? DType::kU8 : DType::kF8E4m3;
    const std::int64_t per_byte = format == ElementFormat::kE2m1 ? 2 : 1;
    const auto expect = [&](const std::string& stem, const Tensor<float, 2>& x,
                            std::vector<std::int64_t> shape) {
      const Quantized q = *Quantize(x, reference::DefaultQuantizeOptions(format));
      const std::int64_t k = shape.back();
      shape.back() = k / per_byte;
      ExpectTensor(*set, stem + ".weight", dtype, shape, Bytes(q.elements));
      shape.back() = k / 32;
      ExpectTensor(*set, stem + ".weight_scale", DType::kF8E8m0, shape, Bytes(q.codes));
    };
    expect("a.q_proj", f32_, {700, 96});
    expect("a.k_proj", bf16_, {2, 32, 64});
    expect("a.v_proj", f16_, {32, 32});
    ExpectTensor(*set, "a.norm.weight", DType::kF32, {32}, Bytes(Random(1, 32, 4)));
    ExpectTensor(*set, "a.odd.weight", DType::kF32, {4, 40}, Bytes(Random(4, 40, 5)));
    ExpectTensor(*set, "embed.weight", DType::kF32, {4, 32}, Bytes(Random(4, 32, 6)));
    ExpectTensor(*set, "a.q_proj.bias", DType::kF32, {1, 32}, Bytes(Random(1, 32, 7)));
    EXPECT_EQ(set->tensors().size(), 10u);
    EXPECT_EQ(report->copied, 4);
    ASSERT_EQ(report->left.size(), 1u);
    EXPECT_EQ(report->left[0], "a.odd.weight: K = 40 is not a multiple of 32");
  }
}

TEST_F(QuantizeTest, ReportsTheError) {
  const absl::StatusOr<QuantizeReport> report =
      QuantizeCheckpoint(Request(ElementFormat::kE2m1), nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->tensors.size(), 3u);
  const auto found =
      std::find_if(report->tensors.begin(), report->tensors.end(),
                   [](const QuantizeError& e) { return e.name == "a.q_proj.weight"; });
  ASSERT_NE(found, report->tensors.end());
  const Tensor<float, 2> y =
      *DequantizeToFloat(*Quantize(f32_, reference::DefaultQuantizeOptions(ElementFormat::kE2m1)),
                         ElementFormat::kE2m1);
  double largest = 0, error = 0, size = 0;
  std::int64_t zeroed = 0;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const double difference = static_cast<double>(f32_.data()[i]) - y.data()[i];
    largest = std::max(largest, std::fabs(difference));
    error += difference * difference;
    size += static_cast<double>(f32_.data()[i]) * f32_.data()[i];
    zeroed += f32_.data()[i] != 0 && y.data()[i] == 0;
  }
  EXPECT_EQ(found->elements, 700 * 96);
  EXPECT_EQ(found->largest, largest);
  EXPECT_NEAR(found->relative_rms, std::sqrt(error / size), 1e-6);
  EXPECT_EQ(found->zeroed, zeroed);
  EXPECT_EQ(found->nan_blocks, 0);
  EXPECT_GT(report->relative_rms, 0.05);  // FP4 is that coarse,
  EXPECT_LT(report->relative_rms, 0.2);   // and no coarser.
}

TEST_F(QuantizeTest, SquareBlocks) {
  QuantizeRequest request = Request(ElementFormat::kE4m3Fn);
  request.options.code_rows = 32;
  const absl::StatusOr<QuantizeReport> report = QuantizeCheckpoint(request, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  const absl::StatusOr<TensorSet> set = TensorSet::Open(out_);
  ASSERT_TRUE(set.ok());
  const Quantized q =
      *QuantizeSquareBlocks(bf16_, reference::DefaultQuantizeOptions(ElementFormat::kE4m3Fn));
  ExpectTensor(*set, "a.k_proj.weight", DType::kF8E4m3, {2, 32, 64}, Bytes(q.elements));
  ExpectTensor(*set, "a.k_proj.weight_scale", DType::kF8E8m0, {2, 1, 2}, Bytes(q.codes));
  ASSERT_EQ(report->left.size(), 2u);  // 700 rows are no multiple of 32.
}

TEST_F(QuantizeTest, DequantizeGivesBackWhatTheBytesStandFor) {
  const std::string back = directory_.File("back.safetensors");
  for (const ElementFormat format :
       {ElementFormat::kE4m3Fn, ElementFormat::kE4m3Fnuz, ElementFormat::kE2m1}) {
    for (const bool square : {false, true}) {
      QuantizeRequest request = Request(format);
      request.options.code_rows = square ? 32 : 1;
      request.rules.overwrite = true;
      ASSERT_TRUE(QuantizeCheckpoint(request, nullptr).ok());
      for (const bool float32 : {false, true}) {
        DequantizeRequest dequantize;
        dequantize.in = out_;
        dequantize.out = back;
        dequantize.float32 = float32;
        dequantize.rules.overwrite = true;
        const absl::StatusOr<DequantizeReport> report = DequantizeCheckpoint(dequantize, nullptr);
        ASSERT_TRUE(report.ok()) << report.status();
        EXPECT_EQ(report->dequantized, square ? 2 : 3);
        EXPECT_TRUE(report->left.empty());
        const absl::StatusOr<TensorSet> set = TensorSet::Open(back);
        ASSERT_TRUE(set.ok());
        EXPECT_EQ(set->tensors().size(), 7u);
        const reference::QuantizeOptions options = reference::DefaultQuantizeOptions(format);
        const Quantized q =
            square ? *QuantizeSquareBlocks(bf16_, options) : *Quantize(bf16_, options);
        ExpectTensor(
            *set, "a.k_proj.weight", float32 ? DType::kF32 : DType::kBf16, {2, 32, 64},
            float32 ? Bytes(*DequantizeToFloat(q, format)) : Bytes(*DequantizeToBf16(q, format)));
        ExpectTensor(*set, "embed.weight", DType::kF32, {4, 32}, Bytes(Random(4, 32, 6)));
      }
    }
  }
}

TEST(QuantizeCheckpoint, KeepsFilesAndIndex) {
  const TestDirectory directory;
  const Tensor<float, 2> x = Random(4, 32, 1), y = Random(8, 64, 2);
  std::filesystem::create_directories(directory.File("in"));
  WriteFile(directory.File("in/m-00001-of-00002.safetensors"),
            {{{"x.weight", DType::kF32, {4, 32}}, Bytes(x)}});
  WriteFile(directory.File("in/m-00002-of-00002.safetensors"),
            {{{"y.weight", DType::kF32, {8, 64}}, Bytes(y)}});
  SafetensorsIndex index;
  index.weight_map = {{"x.weight", "m-00001-of-00002.safetensors"},
                      {"y.weight", "m-00002-of-00002.safetensors"}};
  ASSERT_TRUE(WriteSafetensorsIndex(directory.File("in/model.safetensors.index.json"), index).ok());
  QuantizeRequest request;
  request.in = directory.File("in");
  request.out = directory.File("out");
  const absl::StatusOr<QuantizeReport> report = QuantizeCheckpoint(request, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  const absl::StatusOr<TensorSet> set = TensorSet::Open(request.out);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->index_name(), "model.safetensors.index.json");
  EXPECT_EQ(set->shards().size(), 2u);
  ExpectTensor(
      *set, "y.weight_scale", DType::kF8E8m0, {8, 2},
      Bytes(Quantize(y, reference::DefaultQuantizeOptions(ElementFormat::kE4m3Fn))->codes));
}

TEST_F(QuantizeTest, RefusesAndWritesNothing) {
  const auto refused = [&](const absl::Status& status, const std::string& part) {
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.ToString().find(part), std::string::npos) << status;
    EXPECT_EQ(directory_.Names(), std::vector<std::string>{"in.safetensors"});
  };
  QuantizeRequest request = Request(ElementFormat::kE4m3Fn);
  request.out = in_;
  request.rules.overwrite = true;
  refused(QuantizeCheckpoint(request, nullptr).status(), "is a file of the source");
  request.rules.overwrite = false;
  refused(QuantizeCheckpoint(request, nullptr).status(), "is a file of the source");
  request = Request(ElementFormat::kE4m3Fn);
  request.only = {"*.nothing"};
  refused(QuantizeCheckpoint(request, nullptr).status(), "no tensor's name matches *.nothing");
  request.only = {"a.odd.weight"};
  refused(QuantizeCheckpoint(request, nullptr).status(), "K = 40 is not a multiple of 32");
  request = Request(ElementFormat::kE4m3Fn);
  request.options.maximum = 500;
  refused(QuantizeCheckpoint(request, nullptr).status(), "maximum is 500");
  request = Request(ElementFormat::kE4m3Fn);
  request.in = directory_.File("nothing");
  refused(QuantizeCheckpoint(request, nullptr).status(), "nothing");
}

TEST(QuantizeCheckpoint, RefusesNamesThatAreTakenAndFilesThatExist) {
  const TestDirectory directory;
  const std::string in = directory.File("in.safetensors");
  WriteFile(in, {{{"x.weight", DType::kF32, {4, 32}}, Bytes(Random(4, 32, 1))},
                 {{"x.weight_scale", DType::kF32, {1, 1}}, Bytes(Random(1, 1, 1))}});
  QuantizeRequest request;
  request.in = in;
  request.out = directory.Write("out.safetensors", "something");
  absl::Status status = QuantizeCheckpoint(request, nullptr).status();
  EXPECT_NE(status.ToString().find("x.weight_scale"), std::string::npos) << status;
  WriteFile(in, {{{"x.weight", DType::kF32, {4, 32}}, Bytes(Random(4, 32, 1))}});
  status = QuantizeCheckpoint(request, nullptr).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_EQ(ReadAll(request.out), "something");
}

TEST(DequantizeCheckpoint, NamesWhatItCannotTake) {
  const TestDirectory directory;
  const std::string in = directory.File("in.safetensors");
  const std::string out = directory.File("out.safetensors");
  const std::string bytes(64 * 64, '\x38');
  const TensorSpec weight = {"x.weight", DType::kF8E4m3, {64, 64}};
  WriteFile(in, {{weight, bytes}, {{"x.weight_scale_inv", DType::kF32, {1, 1}}, "1234"}});
  DequantizeRequest request;
  request.in = in;
  request.out = out;
  absl::Status status = DequantizeCheckpoint(request, nullptr).status();
  EXPECT_NE(status.ToString().find("x.weight_scale_inv is F32, expected E8M0"), std::string::npos)
      << status;
  WriteFile(in, {{weight, bytes}, {{"x.weight_scale_inv", DType::kU8, {3, 1}}, "123"}});
  status = DequantizeCheckpoint(request, nullptr).status();
  EXPECT_NE(status.ToString().find("x.weight_scale_inv is [3, 1] for x.weight [64, 64] of e4m3fn"),
            std::string::npos)
      << status;
  WriteFile(in, {{weight, bytes}});
  status = DequantizeCheckpoint(request, nullptr).status();
  EXPECT_NE(status.ToString().find("nothing to dequantize"), std::string::npos) << status;
  EXPECT_NE(status.ToString().find("x.weight has none"), std::string::npos) << status;
}

// One code for 128 x 128, the last blocks cut off. Elements of 1: the values are the codes' powers
// of two, whose bfloat16 is the code as exponent.
TEST(DequantizeCheckpoint, BlocksOf128) {
  const TestDirectory directory;
  DequantizeRequest request;
  request.in = directory.File("in.safetensors");
  request.out = directory.File("out.safetensors");
  const std::string codes = {'\x70', '\x71', '\x72', '\x73', '\x74', '\x75'};
  WriteFile(request.in, {{{"x.weight", DType::kF8E4m3, {200, 300}}, std::string(60000, '\x38')},
                         {{"x.weight_scale_inv", DType::kF8E8m0, {2, 3}}, codes}});
  const absl::StatusOr<DequantizeReport> report = DequantizeCheckpoint(request, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  std::string expected;
  for (int row = 0; row < 200; ++row) {
    for (int column = 0; column < 300; ++column) {
      const int bits = codes[static_cast<std::size_t>(row / 128 * 3 + column / 128)] << 7;
      expected += {static_cast<char>(bits & 0xFF), static_cast<char>(bits >> 8)};
    }
  }
  const absl::StatusOr<TensorSet> set = TensorSet::Open(request.out);
  ASSERT_TRUE(set.ok());
  ExpectTensor(*set, "x.weight", DType::kBf16, {200, 300}, expected);
  // Blocks of 32 rows cannot be cut off where other matrices follow.
  WriteFile(request.in, {{{"x.weight", DType::kF8E4m3, {2, 40, 32}}, std::string(2560, '\x38')},
                         {{"x.weight_scale", DType::kF8E8m0, {2, 2, 1}}, "1234"}});
  request.rules.overwrite = true;
  const absl::Status status = DequantizeCheckpoint(request, nullptr).status();
  EXPECT_NE(status.ToString().find("x.weight_scale is [2, 2, 1] for x.weight [2, 40, 32]"),
            std::string::npos)
      << status;
}

// Whatever the names: those that were quantized come back, under them, and nothing is left of it.
TEST(DequantizeCheckpoint, TakesBackAllThatWasQuantized) {
  const TestDirectory directory;
  QuantizeRequest quantize;
  quantize.in = directory.File("in.safetensors");
  quantize.out = directory.File("mx.safetensors");
  quantize.only = {"*"};
  quantize.except = {};
  const std::vector<std::string> names = {"a.gate_up_proj", "b.weight", "c.weight_packed", "d"};
  std::vector<Written> tensors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    tensors.push_back(
        {{names[i], DType::kF32, {32, 64}}, Bytes(Random(32, 64, static_cast<unsigned>(i)))});
  }
  WriteFile(quantize.in, tensors);
  DequantizeRequest back;
  back.in = quantize.out;
  back.out = directory.File("back.safetensors");
  back.float32 = true;
  for (const ElementFormat format :
       {ElementFormat::kE4m3Fn, ElementFormat::kE4m3Fnuz, ElementFormat::kE2m1}) {
    quantize.options = DefaultMxOptions(format);
    quantize.rules.overwrite = back.rules.overwrite = true;
    const absl::StatusOr<QuantizeReport> made = QuantizeCheckpoint(quantize, nullptr);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->strange_names, 3);
    const absl::StatusOr<DequantizeReport> report = DequantizeCheckpoint(back, nullptr);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->dequantized, 4);
    EXPECT_EQ(report->copied, 0);
    EXPECT_TRUE(report->left.empty());
    const absl::StatusOr<TensorSet> set = TensorSet::Open(back.out);
    ASSERT_TRUE(set.ok());
    ASSERT_EQ(set->tensors().size(), names.size());
    EXPECT_EQ(set->shards()[0].file.metadata().count("quantized"), 0u);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Quantized q = *Quantize(Random(32, 64, static_cast<unsigned>(i)),
                                    reference::DefaultQuantizeOptions(format));
      ExpectTensor(*set, names[i], DType::kF32, {32, 64}, Bytes(*DequantizeToFloat(q, format)));
    }
  }
}

// However many rows of nothing, and however wide rows that are not there: neither time nor memory.
TEST(QuantizeCheckpoint, TensorsWithoutElements) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  const TestDirectory directory;
  QuantizeRequest request;
  request.in = directory.File("in.safetensors");
  request.out = directory.File("out.safetensors");
  WriteFile(request.in, {{{"tall.weight", DType::kF32, {kMany, 0}}, ""},
                         {{"wide.weight", DType::kF32, {0, kMany}}, ""},
                         {{"x.weight", DType::kF32, {4, 32}}, Bytes(Random(4, 32, 1))}});
  const absl::StatusOr<QuantizeReport> report = QuantizeCheckpoint(request, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  const absl::StatusOr<TensorSet> set = TensorSet::Open(request.out);
  ASSERT_TRUE(set.ok()) << set.status();
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(set->Find("tall.weight")->info->shape, (Shape{kMany, 0}));
  EXPECT_EQ(set->Find("tall.weight_scale")->info->shape, (Shape{kMany, 0}));
  EXPECT_EQ(set->Find("wide.weight_scale")->info->shape, (Shape{0, kMany / 32}));
  DequantizeRequest back;
  back.in = request.out;
  back.out = directory.File("back.safetensors");
  EXPECT_EQ(DequantizeCheckpoint(back, nullptr).status(), absl::OkStatus());
}

}  // namespace
}  // namespace lanewise

#include "benchmarks/pack/cases.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "base/status.h"
#include "formats/formats.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "weights/gfx942/dense.h"
#include "weights/linear_source.h"
#include "weights/packer.h"
#include "weights/tensor_plan.h"

namespace lanewise::benchmarks {
namespace {

constexpr std::int64_t kRowBytes = 5120;
constexpr std::int64_t kRowMultiple = 256;  // of every layout's tile

std::int64_t RowsFor(std::int64_t bytes) {
  return std::max<std::int64_t>(1, bytes / kRowBytes / kRowMultiple) * kRowMultiple;
}

// A layout as it is, without a preparation's checks and rewrites or with a byte-by-byte one.
Case LayoutCase(const Layout& layout, bool unpack, Rewrite rewrite, std::string rewrite_name) {
  Case result;
  result.layout = layout.tag;
  result.direction = unpack ? "unpack" : "pack";
  result.rewrite = std::move(rewrite_name);
  result.target = rewrite == Rewrite::kNone ? 0.95 : 0.9;
  result.bind = [layout, unpack, rewrite](std::int64_t bytes, std::span<std::uint8_t> from,
                                          std::span<std::uint8_t>,
                                          std::span<std::uint8_t> to) -> absl::StatusOr<Work> {
    const std::int64_t rows = RowsFor(bytes);
    const std::int64_t extents[] = {rows, kRowBytes};
    LANEWISE_ASSIGN_OR_RETURN(const BoundLayout bound, Bind(layout, extents));
    absl::StatusOr<Packer> packer = Packer::Create(bound);
    if (!packer.ok()) return packer.status();
    Work work;
    work.read_bytes = work.written_bytes = rows * kRowBytes;
    from = from.first(work.read_bytes);
    to = to.first(work.written_bytes);
    work.run = [packer = std::make_shared<Packer>(*std::move(packer)), unpack, rewrite, from,
                to](int threads) -> absl::Status {
      if (unpack) return packer->Unpack(from, ContiguousSink(to, kRowBytes), threads);
      PackOptions options;
      options.rewrite = rewrite;
      options.threads = threads;
      return packer->Pack(ContiguousRows(from, kRowBytes), options, to).status();
    };
    return work;
  };
  return result;
}

// A plan made by `plan` for [n, k] of an MXFP8 linear, forth or back.
template <class Plan>
Case PlanCase(std::string layout, bool unpack, std::string rewrite, Contents contents,
              double target, const Plan& plan, double copy_bytes_an_element) {
  Case result;
  result.layout = std::move(layout);
  result.direction = unpack ? "unpack" : "pack";
  result.rewrite = std::move(rewrite);
  result.contents = contents;
  result.target = target;
  result.bind = [unpack, plan, copy_bytes_an_element](
                    std::int64_t bytes, std::span<std::uint8_t> from, std::span<std::uint8_t> codes,
                    std::span<std::uint8_t> to) -> absl::StatusOr<Work> {
    const auto elements =
        static_cast<std::int64_t>(static_cast<double>(bytes) / copy_bytes_an_element);
    const std::int64_t n = std::max<std::int64_t>(1, elements / kRowBytes / 32) * 32;
    LANEWISE_ASSIGN_OR_RETURN(TensorPlan made, plan(n, kRowBytes));
    const auto shared = std::make_shared<TensorPlan>(std::move(made));
    const std::int64_t rows_bytes = shared->rows() * shared->source_row_bytes;
    Work work;
    work.read_bytes = unpack ? shared->bytes() : rows_bytes;
    work.written_bytes = unpack ? rows_bytes : shared->bytes();
    // Plans of codes read their second source, plans of weights both.
    work.run = [shared, unpack, work, from, codes, to](int threads) -> absl::Status {
      const bool is_codes = shared->conversion == Conversion::kScaleCode;
      if (unpack) {
        const Sinks sinks = is_codes ? Sinks{codes, to} : Sinks{to, codes};
        return RestorePlan(*shared, from.first(work.read_bytes), threads, sinks);
      }
      const Sources sources = is_codes ? Sources{codes, from} : Sources{from, codes};
      RunOptions options;
      options.threads = threads;
      return RunPlan(*shared, sources, options, to.first(work.written_bytes)).status();
    };
    return work;
  };
  return result;
}

absl::StatusOr<WeightPlans> DensePlans(std::int64_t n, std::int64_t k,
                                       LinearSource::WeightForm form) {
  return gfx942::PlanDense(LinearSource::Whole(n, k, form, 32), {});
}

}  // namespace

std::vector<Case> PackCases() {
  std::vector<Case> cases;
  for (const Layout& entry : kCatalogue) {
    if (entry.main.axes != 2 || entry.tag.substr(0, 5) == "mfma/") continue;
    const Layout layout = entry.WithParameter("blocks", 8).WithParameter("chunks", 8);
    cases.push_back(LayoutCase(layout, false, Rewrite::kNone, "none"));
    cases.push_back(LayoutCase(layout, true, Rewrite::kNone, "none"));
    if (entry.unit == Unit::kFnuzByte) {
      cases.push_back(LayoutCase(layout, false, Rewrite::kE4m3ToFnuz, "fnuz"));
    }
    if (entry.unit == Unit::kE2m1Pair) {
      cases.push_back(LayoutCase(layout, false, Rewrite::kE2m1DropNegativeZero, "minus_zero"));
    }
  }
  // One code for 32 x 32 elements: [1024 n, k] has n * k of them, in rows of k / 32.
  const auto codes = [](std::int64_t n, std::int64_t k) -> absl::StatusOr<TensorPlan> {
    LANEWISE_ASSIGN_OR_RETURN(WeightPlans plans,
                              DensePlans(1024 * n, k, LinearSource::WeightForm::kE4m3));
    return plans.codes;
  };
  const auto from_bf16 = [](std::int64_t n, std::int64_t k) -> absl::StatusOr<TensorPlan> {
    LANEWISE_ASSIGN_OR_RETURN(WeightPlans plans, DensePlans(n, k, LinearSource::WeightForm::kBf16));
    return plans.weight;
  };
  for (const bool unpack : {false, true}) {
    cases.push_back(
        PlanCase("gfx942/dense_codes", unpack, "code_plus_1", Contents::kCodes, 0.9, codes, 1.0));
    cases.push_back(PlanCase("gfx942/dense", unpack, "from_bf16",
                             unpack ? Contents::kFinite : Contents::kBf16, 0.7, from_bf16, 1.5));
  }
  return cases;
}

void Fill(Contents contents, std::span<std::uint8_t> bytes) {
  std::uint64_t x = 88172645463325252u;
  const auto next = [&x] {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
  };
  const std::size_t whole = bytes.size() / 8 * 8;
  if (contents == Contents::kRandom || contents == Contents::kFinite) {
    for (std::size_t i = 0; i < whole; i += 8) {
      const std::uint64_t word = next();
      std::memcpy(&bytes[i], &word, 8);
    }
    if (contents == Contents::kRandom) return;
    for (std::uint8_t& byte : bytes) {
      if ((byte & 0x7F) == 0x7F) byte ^= 1;
    }
    return;
  }
  if (contents == Contents::kCodes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = 118 + (i / 7 + i / 4096) % 16;
    return;
  }
  // Every finite e4m3 value under code 127, then moved to the code of its block, which Fill(kCodes)
  // gives. Rows of kRowBytes elements, block codes.
  std::array<std::uint16_t, 256> value;
  for (int i = 0; i < 256; ++i) {
    const int finite = (i & 0x7F) == 0x7F ? 0 : i;
    value[i] =
        Bf16::FromFloat(E4m3Fn::FromBits(static_cast<std::uint8_t>(finite)).ToFloat()).bits();
  }
  std::vector<std::uint8_t> codes(bytes.size() / 2 / 32 / 32 + kRowBytes);
  Fill(Contents::kCodes, codes);
  for (std::size_t i = 0; i + 2 <= bytes.size(); i += 2) {
    const std::int64_t row = static_cast<std::int64_t>(i / 2) / kRowBytes;
    const std::int64_t column = static_cast<std::int64_t>(i / 2) % kRowBytes;
    const int code = codes[row / 32 * (kRowBytes / 32) + column / 32];
    std::uint16_t bits = value[next() >> 56];
    if ((bits & 0x7FFF) != 0) bits = static_cast<std::uint16_t>(bits + (code - 127) * 128);
    std::memcpy(&bytes[i], &bits, 2);
  }
}

}  // namespace lanewise::benchmarks

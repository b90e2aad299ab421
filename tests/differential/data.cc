#include "tests/differential/data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "formats/registry.h"

namespace lanewise::differential {
namespace {

// How many codes a format has; 0 for 2^32.
std::uint32_t Codes(std::string_view format) {
  const int bits = FormatBits(format);
  return bits >= 32 ? 0 : 1u << bits;
}

bool IsScale(const Argument& argument) { return argument.format == "e8m0"; }
bool HasNumbers(std::string_view format) {
  return format == "f32" || FindFormat(format) != nullptr;
}

float Largest(std::string_view format) {
  if (format == "f32") return std::numeric_limits<float>::max();
  return FindFormat(format)->decode(
      FindFormat(format)->encode(std::numeric_limits<float>::infinity(), Overflow::kSaturate));
}

// Draws one operand.
class Filler {
 public:
  Filler(Data data, const Operand& operand, std::mt19937_64& random)
      : data_(data),
        operand_(operand),
        argument_(*operand.argument),
        random_(random),
        bits_(FormatBits(argument_.format)),
        codes_(Codes(argument_.format)),
        is_scale_(IsScale(argument_)),
        numbers_(HasNumbers(argument_.format)),
        view_(FindFormat(argument_.format)),
        largest_(numbers_ ? Largest(argument_.format) : 0) {}

  void Run() {
    const std::int64_t columns = operand_.extents.empty() ? 1 : operand_.extents.back();
    for (std::int64_t i = 0; i < operand_.elements; ++i) {
      SetBits(bits_, operand_.data, i, is_scale_ ? Scale(i) : Element(i, columns));
    }
    if (data_ == Data::kCancellation && HasNumbers(argument_.format)) Cancel(columns);
  }

 private:
  std::uint64_t Below(std::uint64_t n) { return random_() % n; }

  std::uint32_t Scale(std::int64_t i) {
    const std::uint32_t limit = argument_.code_limit > 0
                                    ? static_cast<std::uint32_t>(argument_.code_limit)
                                : argument_.allow_nan ? 256
                                                      : 255;
    std::uint32_t code = 127;
    switch (data_) {
      case Data::kRandomBits:
        code = static_cast<std::uint32_t>(Below(limit));
        break;
      case Data::kAllCodes:
      case Data::kIota:
        code = static_cast<std::uint32_t>(i) % limit;
        break;
      case Data::kNormal:
      case Data::kCancellation:
        code = 120 + static_cast<std::uint32_t>(Below(9));
        break;
      case Data::kNan:
        code = Below(16) == 0 ? 255 : 127;
        break;
      case Data::kExtremeScales: {
        constexpr std::uint32_t kEnds[] = {0, 1, 2, 3, 127, 251, 252, 253, 254};
        code = kEnds[Below(std::size(kEnds))];
        break;
      }
      case Data::kSubnormals:
      case Data::kNegativeZeros:
      case Data::kOneHot:
        break;
    }
    return std::min(code, limit - 1);
  }

  std::uint32_t Any() {
    const std::uint32_t codes = codes_;
    std::uint32_t code = static_cast<std::uint32_t>(random_());
    if (codes != 0) code %= codes;
    while (!argument_.allow_nan && numbers_ && !std::isfinite(Value(code))) {
      code = static_cast<std::uint32_t>(random_());
      if (codes != 0) code %= codes;
    }
    return argument_.code_limit > 0 ? code % static_cast<std::uint32_t>(argument_.code_limit)
                                    : code;
  }

  // Of formats with numbers. Names are looked up once: there are millions of elements.
  double Value(std::uint32_t code) const {
    return view_ == nullptr ? std::bit_cast<float>(code)
                            : view_->decode(static_cast<std::uint16_t>(code));
  }
  std::uint32_t Number(float value) {
    value = std::clamp(value, -largest_, largest_);
    return view_ == nullptr ? std::bit_cast<std::uint32_t>(value)
                            : view_->encode(value, Overflow::kSaturate);
  }
  // The sum of twelve uniform numbers has the variance 1 and ends at +-6. std::normal_distribution
  // differs between standard libraries; integers make a seed repeat anywhere.
  float Normal() {
    std::int64_t sum = 0;
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t two = random_();
      sum += static_cast<std::int64_t>(two >> 32) + static_cast<std::int64_t>(two & 0xFFFFFFFFu);
    }
    constexpr std::int64_t kMean = 6 * std::int64_t{0xFFFFFFFF};
    return std::ldexp(static_cast<float>(sum - kMean), -32);
  }

  std::uint32_t Element(std::int64_t i, std::int64_t columns) {
    const std::string& format = argument_.format;
    const bool numbers = numbers_;
    const std::uint32_t codes = codes_;
    if (data_ == Data::kRandomBits) return Any();
    if (data_ == Data::kAllCodes || data_ == Data::kIota || !numbers) {
      if (!numbers && data_ != Data::kAllCodes && data_ != Data::kIota) return Any();
      // 16 and 32 bits in strides, so that a small array meets every exponent.
      std::uint32_t code = static_cast<std::uint32_t>(i);
      if (data_ == Data::kAllCodes && FormatBits(format) >= 16) code *= 0x01010193u;
      if (codes != 0) code %= codes;
      return data_ == Data::kIota && !numbers ? code : AllowedOrZero(code);
    }
    const float sign = Below(2) == 0 ? 1.0f : -1.0f;
    switch (data_) {
      case Data::kSubnormals: {
        const FormatView* const view = FindFormat(format);
        const int mantissa = view == nullptr ? 23 : view->spec->mantissa_bits;
        const std::uint32_t code = static_cast<std::uint32_t>(Below(1u << mantissa));
        const std::uint32_t top = 1u << (FormatBits(format) - 1);
        return AllowedOrZero(sign < 0 ? code | top : code);
      }
      case Data::kNegativeZeros:
        return Number(Below(2) == 0 ? -0.0f : sign * static_cast<float>(Below(3)));
      case Data::kNan:
        if (argument_.allow_nan && Below(24) == 0) {
          const float special = Below(2) == 0 ? std::numeric_limits<float>::quiet_NaN()
                                              : sign * std::numeric_limits<float>::infinity();
          return format == "f32" ? std::bit_cast<std::uint32_t>(special)
                                 : FindFormat(format)->encode(special, Overflow::kNonFinite);
        }
        return Number(Normal());
      case Data::kExtremeScales:
        if (format == "f32" || format == "bf16") {
          // Drawn one by one: compilers differ in the order of a call's arguments.
          const float significand = sign * (1.0f + 0.5f * static_cast<float>(Below(2)));
          return Number(std::ldexp(significand, static_cast<int>(Below(277)) - 149));
        }
        return Number(Below(2) == 0 ? sign * Largest(format) : Normal());
      case Data::kOneHot:
        return i % columns == (7 * (i / columns) + 3) % columns
                   ? Number(static_cast<float>(1 + i / columns % 4))
                   : 0;
      default:
        return Number(Normal());
    }
  }

  std::uint32_t AllowedOrZero(std::uint32_t code) {
    if (argument_.code_limit > 0) code %= static_cast<std::uint32_t>(argument_.code_limit);
    if (!argument_.allow_nan && numbers_ && !std::isfinite(Value(code))) return 0;
    return code;
  }

  // The second half of every row is the first's, negated where the argument says so.
  void Cancel(std::int64_t columns) {
    const bool negate = argument_.negate_second_half && !is_scale_;
    const std::uint32_t top = 1u << (FormatBits(argument_.format) - 1);
    for (std::int64_t i = 0; i < operand_.elements; ++i) {
      const std::int64_t column = i % columns;
      if (columns < 2 || column < (columns + 1) / 2) continue;
      std::uint32_t code = GetBits(bits_, operand_.data, i - (columns + 1) / 2);
      if (negate && column != columns - 1 && Value(code) != 0) code ^= top;
      SetBits(bits_, operand_.data, i, code);
    }
  }

  Data data_;
  const Operand& operand_;
  const Argument& argument_;
  std::mt19937_64& random_;
  const int bits_;
  const std::uint32_t codes_;
  const bool is_scale_;
  const bool numbers_;
  const FormatView* const view_;  // null: not of the registry, such as f32
  const float largest_;
};

}  // namespace

std::uint32_t GetBits(int bits, const void* data, std::int64_t index) {
  const auto* const bytes = static_cast<const std::uint8_t*>(data);
  switch (bits) {
    case 4:
      return bytes[index / 2] >> (index % 2 * 4) & 0xF;
    case 8:
      return bytes[index];
    case 16: {
      std::uint16_t code;
      std::memcpy(&code, bytes + 2 * index, 2);
      return code;
    }
    default: {
      std::uint32_t code;
      std::memcpy(&code, bytes + 4 * index, 4);
      return code;
    }
  }
}

void SetBits(int bits, void* data, std::int64_t index, std::uint32_t code) {
  auto* const bytes = static_cast<std::uint8_t*>(data);
  switch (bits) {
    case 4: {
      std::uint8_t& byte = bytes[index / 2];
      const int shift = index % 2 * 4;
      byte = static_cast<std::uint8_t>((byte & ~(0xF << shift)) | (code & 0xF) << shift);
      break;
    }
    case 8:
      bytes[index] = static_cast<std::uint8_t>(code);
      break;
    case 16: {
      const auto narrow = static_cast<std::uint16_t>(code);
      std::memcpy(bytes + 2 * index, &narrow, 2);
      break;
    }
    default:
      std::memcpy(bytes + 4 * index, &code, 4);
  }
}

double CodeValue(std::string_view format, std::uint32_t code) {
  if (format == "f32") return std::bit_cast<float>(code);
  if (format == "i32") return static_cast<std::int32_t>(code);
  const FormatView* const view = FindFormat(format);
  return view == nullptr ? code : view->decode(static_cast<std::uint16_t>(code));
}

bool IsNanCode(std::string_view format, std::uint32_t code) {
  return HasNumbers(format) && std::isnan(CodeValue(format, code));
}

void Fill(Data data, const Operand& operand, const Call& call, std::mt19937_64& random) {
  if (operand.argument->generate) {
    operand.argument->generate(data, call, random);
  } else {
    Filler(data, operand, random).Run();
  }
}

}  // namespace lanewise::differential

#include "reference/quantize/element_format.h"

#include <cmath>

#include "formats/formats.h"

namespace lanewise::reference {
namespace {

// Calls `function` with a value of the format's type.
template <class Function>
auto WithFormat(ElementFormat format, Function function) {
  switch (format) {
    case ElementFormat::kE4m3Fn:
      return function(E4m3Fn());
    case ElementFormat::kE4m3Fnuz:
      return function(E4m3Fnuz());
    case ElementFormat::kE5m2:
      return function(E5m2());
    case ElementFormat::kE5m2Fnuz:
      return function(E5m2Fnuz());
    case ElementFormat::kE2m1:
      break;
  }
  return function(E2m1());
}

}  // namespace

std::uint8_t EncodeElement(ElementFormat format, float x) {
  if (std::isnan(x)) return NanBits(format);
  return WithFormat(format, [x](auto element) {
    return decltype(element)::FromFloat(x, Overflow::kSaturate).bits();
  });
}

float DecodeElement(ElementFormat format, std::uint8_t bits) {
  return WithFormat(format,
                    [bits](auto element) { return decltype(element)::FromBits(bits).ToFloat(); });
}

std::uint8_t NanBits(ElementFormat format) {
  return WithFormat(format, [](auto element) -> std::uint8_t {
    using Format = decltype(element);
    if constexpr (Format::kHasNan) {
      return Format::Nan().bits();
    } else {
      return 0;
    }
  });
}

}  // namespace lanewise::reference

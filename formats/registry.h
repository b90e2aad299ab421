#ifndef LANEWISE_FORMATS_REGISTRY_H_
#define LANEWISE_FORMATS_REGISTRY_H_

// The list of element formats, for code that goes over all of them or picks one by name. A new
// format is a line in formats/formats.h and one here.

#include <array>
#include <cstdint>
#include <string_view>

#include "formats/formats.h"

namespace lanewise {

// List<E4m3Fn, E4m3Fnuz, ...>: every format as a type.
template <template <class...> class List>
using AllFormats = List<E4m3Fn,    //
                        E4m3Fnuz,  //
                        E5m2,      //
                        E5m2Fnuz,  //
                        E2m3,      //
                        E3m2,      //
                        E2m1,      //
                        E8m0,      //
                        Bf16,      //
                        F16>;

// A format at run time: what Element has, with codes in the low bits of 16.
struct FormatView {
  std::string_view name;
  // Bits of a code.
  int bits;
  const ElementSpec* spec;
  float (*decode)(std::uint16_t code);
  std::uint16_t (*encode)(float value, Overflow overflow);
  std::uint16_t (*encode_double)(double value, Overflow overflow);
};

namespace internal {

template <const ElementSpec& kSpec>
constexpr FormatView ViewOf(const Element<kSpec>*) {
  using Format = Element<kSpec>;
  return {
      .name = kSpec.name,
      .bits = Format::kBits,
      .spec = &kSpec,
      .decode =
          [](std::uint16_t code) {
            return Format::FromBits(static_cast<typename Format::Bits>(code)).ToFloat();
          },
      .encode = [](float value, Overflow overflow) -> std::uint16_t {
        return Format::FromFloat(value, overflow).bits();
      },
      .encode_double = [](double value, Overflow overflow) -> std::uint16_t {
        return Format::FromDouble(value, overflow).bits();
      },
  };
}

template <class... Formats>
struct FormatViews {
  static constexpr std::array<FormatView, sizeof...(Formats)> kViews = {
      ViewOf(static_cast<const Formats*>(nullptr))...};
};

}  // namespace internal

// Every format at run time, in the order of AllFormats.
inline constexpr auto kFormats = AllFormats<internal::FormatViews>::kViews;

// The format of that name ("e4m3fn", "bf16", ...); null if there is none.
constexpr const FormatView* FindFormat(std::string_view name) {
  for (const FormatView& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

}  // namespace lanewise

#endif  // LANEWISE_FORMATS_REGISTRY_H_

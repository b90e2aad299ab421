#ifndef LANEWISE_SEMANTICS_ELEMENT_FORMAT_H_
#define LANEWISE_SEMANTICS_ELEMENT_FORMAT_H_

// Which narrow format the elements of a block-scaled tensor have, as a run-time value or a template
// argument: the word that the reference, the code at speed and kernels share. What a format's bits
// mean is in formats/formats.h; each package still encodes and decodes by its own code.
//
//   ElementFormat format = ElementFormat::kE2m1;
//   bytes.resize(rows * ElementBytes(format, k));
//
// For host and device; includes nothing of this project.

#include <cstdint>
#include <string_view>

namespace lanewise {

enum class ElementFormat : std::uint32_t { kE4m3Fn, kE4m3Fnuz, kE5m2, kE5m2Fnuz, kE2m1 };

inline constexpr ElementFormat kElementFormats[] = {ElementFormat::kE4m3Fn,    //
                                                    ElementFormat::kE4m3Fnuz,  //
                                                    ElementFormat::kE5m2,      //
                                                    ElementFormat::kE5m2Fnuz,  //
                                                    ElementFormat::kE2m1};

// The name that formats/registry.h finds the format by.
constexpr std::string_view ElementFormatName(ElementFormat format) {
  switch (format) {
    case ElementFormat::kE4m3Fn:
      return "e4m3fn";
    case ElementFormat::kE4m3Fnuz:
      return "e4m3fnuz";
    case ElementFormat::kE5m2:
      return "e5m2";
    case ElementFormat::kE5m2Fnuz:
      return "e5m2fnuz";
    case ElementFormat::kE2m1:
      return "e2m1";
  }
  return "unknown";
}

// Storage of one element: 8, or 4 for e2m1 (two a byte, the even element in the low nibble).
constexpr int ElementBits(ElementFormat format) { return format == ElementFormat::kE2m1 ? 4 : 8; }

// Bytes of k elements; k is even where two share a byte.
constexpr std::int64_t ElementBytes(ElementFormat format, std::int64_t k) {
  return format == ElementFormat::kE2m1 ? k / 2 : k;
}

// The largest finite value.
constexpr float LargestFinite(ElementFormat format) {
  switch (format) {
    case ElementFormat::kE4m3Fn:
      return 448.0f;
    case ElementFormat::kE4m3Fnuz:
      return 240.0f;
    case ElementFormat::kE5m2:
    case ElementFormat::kE5m2Fnuz:
      return 57344.0f;
    case ElementFormat::kE2m1:
      break;
  }
  return 6.0f;
}

}  // namespace lanewise

#endif  // LANEWISE_SEMANTICS_ELEMENT_FORMAT_H_

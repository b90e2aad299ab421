#ifndef LANEWISE_LAYOUTS_LAYOUT_H_
#define LANEWISE_LAYOUTS_LAYOUT_H_

// A layout is a pattern, the few words that say what it is for, and perhaps a second pattern for a
// remainder of its open axis. The catalogue (layouts/catalogue.h) is a list of these.

#include <cstdint>
#include <string_view>

#include "layouts/pattern.h"

namespace lanewise {

struct Layout {
  std::string_view tag;   // the name that prepared files carry, such as "gfx942/dense"
  std::string_view unit;  // what one coordinate addresses, such as "e4m3 byte"
  Pattern main;
  Pattern remainder;         // no factors: none. See BoundLayout for what it means
  std::string_view purpose;  // who reads it, and why it is so
  std::string_view source;   // where it is defined

  constexpr bool HasRemainder() const { return remainder.factors > 0; }

  // The same layout with a parameter of its patterns given this size.
  constexpr Layout WithParameter(std::string_view parameter, std::int64_t size) const {
    Layout result = *this;
    result.main = main.WithParameter(parameter, size);
    result.remainder = remainder.WithParameter(parameter, size);
    return result;
  }
};

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_LAYOUT_H_

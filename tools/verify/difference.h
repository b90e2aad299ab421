#ifndef LANEWISE_TOOLS_VERIFY_DIFFERENCE_H_
#define LANEWISE_TOOLS_VERIFY_DIFFERENCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "layouts/bound_layout.h"

namespace lanewise::tools {

// Compares stored bytes with the expected ones, which come in pieces from the first byte on.
class Difference {
 public:
  explicit Difference(std::span<const std::uint8_t> found) : found_(found) {}

  void Add(std::span<const std::uint8_t> expected);

  // The bytes that were compared so far.
  std::int64_t compared() const { return compared_; }

  // How they differ after the last piece: "" if they do not, else
  //   "NAME: byte 4711 (tile=1 step=0 ...; row 3, k 77) is 0x12, expected 0x34; 5 of 8192 differ".
  // `layout` gives the place in its own words; null: the offset alone.
  std::string Text(std::string_view name, const BoundLayout* layout,
                   std::span<const std::string> axis_names) const;

 private:
  const std::span<const std::uint8_t> found_;
  std::int64_t compared_ = 0;
  std::int64_t differing_ = 0;
  std::int64_t first_ = 0;
  std::uint8_t expected_ = 0;
};

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_VERIFY_DIFFERENCE_H_

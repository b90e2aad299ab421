// -0 rewritten to +0, counted, on the device. The kernel works in place; here on copies.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/status.h"
#include "hip/common/drop_negative_zero.h"
#include "hip/common/layout_copy.h"
#include "reference/gfx942/fp4.h"
#include "tests/differential/loaded.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {
namespace {

using hip::DropNegativeZero;
using hip::LayoutCopy;

absl::Status Reference(const Call& call, bool e2m1) {
  Tensor<std::uint8_t, 2> bytes(1, call["bytes"]);
  std::copy_n(call.Data<std::uint8_t>("in"), bytes.size(), bytes.data());
  std::int64_t changed = 0;
  if (e2m1) {
    changed = reference::gfx942::Fp4DropNegativeZero(&bytes);
  } else {
    for (std::int64_t i = 0; i < bytes.size(); ++i) {
      if (bytes(0, i) != 0x80) continue;
      bytes(0, i) = 0;
      ++changed;
    }
  }
  std::copy_n(bytes.data(), bytes.size(), call.Data<std::uint8_t>("out"));
  std::uint64_t count;
  std::memcpy(&count, call.Data("before"), sizeof(count));
  count += static_cast<std::uint64_t>(changed);
  std::memcpy(call.Data("changed"), &count, sizeof(count));
  return absl::OkStatus();
}

absl::Status OnDevice(const Call& call, bool e2m1) {
  LANEWISE_ASSIGN_OR_RETURN(const DropNegativeZero* const drop,
                            Loaded<DropNegativeZero>(*call.device));
  LANEWISE_ASSIGN_OR_RETURN(const LayoutCopy* const copy, Loaded<LayoutCopy>(*call.device));
  for (const auto& [from, to] : {std::pair("in", "out"), std::pair("before", "changed")}) {
    const LayoutCopy::Problem problem = {.tag = "plain", .extents = {1, call.At(to).bytes}};
    LANEWISE_RETURN_IF_ERROR(copy->Launch(problem, {call.Data(from), call.Data(to)}, *call.stream));
  }
  return drop->Launch(
      {.elements = e2m1 ? DropNegativeZero::Elements::kE2m1 : DropNegativeZero::Elements::kE4m3,
       .bytes = call["bytes"]},
      {call.Data("out"), call.Data<std::uint64_t>("changed")}, *call.stream);
}

// Arguments are bytes: which of their bits are one element is what the two operations differ in.
Operation Drop(const std::string& format, bool e2m1) {
  Operation operation;
  operation.name = "drop_negative_zero/" + format;
  operation.dimensions = {{"bytes"}};
  operation.shapes =
      "bytes=0..40,255..258,4095..4097\n"
      "random 4: bytes=1..20000\n";
  operation.arguments = {
      {.name = "in", .format = "u8", .role = Role::kInput, .extents = {"bytes"}},
      {.name = "out", .format = "u8", .role = Role::kOutput, .extents = {"bytes"}},
      {.name = "before", .format = "u32", .role = Role::kInput, .extents = {"2"}},
      {.name = "changed", .format = "u32", .role = Role::kOutput, .extents = {"2"}},
  };
  operation.data = {Data::kIota, Data::kRandomBits};
  operation.reference = [e2m1](const Call& call) { return Reference(call, e2m1); };
  operation.device = [e2m1](const Call& call) { return OnDevice(call, e2m1); };
  return operation;
}

const Registration kE4m3(Drop("e4m3", false));
const Registration kE2m1(Drop("e2m1", true));

}  // namespace
}  // namespace lanewise::differential

// Q in FlashMLA's order, and back, on the device.

#include "hip/common/permute_q.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "reference/flashmla/fused_layout.h"
#include "tests/differential/loaded.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {
namespace {

using hip::PermuteQ;

template <class T>
absl::Status Reference(const Call& call, bool undo) {
  Tensor<T, 3> q(call["tokens"], call["heads"], call["D"]);
  std::copy_n(call.Data<T>("q"), q.size(), q.data());
  LANEWISE_ASSIGN_OR_RETURN(const auto moved, undo ? reference::flashmla::UndoPermuteQToFused(q)
                                                   : reference::flashmla::PermuteQToFused(q));
  std::copy_n(moved.data(), moved.size(), call.Data<T>("out"));
  return absl::OkStatus();
}

absl::Status OnDevice(const Call& call, int64_t element_bytes, bool undo) {
  LANEWISE_ASSIGN_OR_RETURN(const PermuteQ* const permute, Loaded<PermuteQ>(*call.device));
  return permute->Launch(
      {.tokens = call["tokens"],
       .heads = call["heads"],
       .head_dim = call["D"],
       .element_bytes = element_bytes,
       .undo = undo},
      {undo ? call.Data("out") : call.Data("q"), undo ? call.Data("q") : call.Data("out")},
      *call.stream);
}

template <class T>
Operation Permute(const char* format, bool undo) {
  Operation operation;
  operation.name = absl::StrCat(undo ? "undo_permute_q/" : "permute_q/", format);
  operation.dimensions = {{"tokens"}, {"heads"}, {"D"}};
  operation.shapes =
      "tokens=1..3 heads=1,2,8 D=16,48,512\n"
      "tokens=1 heads=16,32,64 D=512\n"
      "tokens=2 heads=1 D=7\n"
      "tokens=2 heads=2 D=24  # both refuse\n"
      "random 4: tokens=1..5 heads=1..20 D=16*{1..36}\n";
  operation.arguments = {{.name = "q", .format = format, .extents = {"tokens", "heads", "D"}},
                         {.name = "out",
                          .format = format,
                          .role = Role::kOutput,
                          .extents = {"tokens", "heads", "D"}}};
  operation.data = {Data::kIota, Data::kRandomBits};
  operation.moves = true;
  operation.reference = [undo](const Call& call) { return Reference<T>(call, undo); };
  operation.device = [undo](const Call& call) { return OnDevice(call, sizeof(T), undo); };
  return operation;
}

const std::vector<Registration> kRegistrations = [] {
  std::vector<Registration> registrations;
  for (const bool undo : {false, true}) {
    registrations.emplace_back(Permute<uint8_t>("u8", undo));
    registrations.emplace_back(Permute<uint16_t>("u16", undo));
    registrations.emplace_back(Permute<uint32_t>("u32", undo));
  }
  return registrations;
}();

}  // namespace
}  // namespace lanewise::differential

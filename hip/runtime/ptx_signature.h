#ifndef LANEWISE_HIP_RUNTIME_PTX_SIGNATURE_H_
#define LANEWISE_HIP_RUNTIME_PTX_SIGNATURE_H_

// PTX, the text that NVIDIA's driver compiles for its chip, as a code object.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace lanewise::hip {

// Whether a code object is PTX: text whose first directive is .version.
bool IsPtx(std::string_view code_object);

// Bytes of each parameter, in order, by kernel name, from the .entry directives of a PTX module
// ("Parallel Thread Execution ISA", kernel and function directives). InvalidArgument, with the text
// in question, where one cannot be read.
absl::StatusOr<std::map<std::string, std::vector<int64_t>>> ReadPtxSignatures(std::string_view ptx);

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_RUNTIME_PTX_SIGNATURE_H_

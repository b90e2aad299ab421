#ifndef LANEWISE_HIP_EMBEDDED_CODE_OBJECT_H_
#define LANEWISE_HIP_EMBEDDED_CODE_OBJECT_H_

// A code object inside of the program, as hip_code_object (hip/hip.bzl) puts it there.

#include <cstdint>
#include <span>
#include <string_view>

namespace lanewise::hip {

struct EmbeddedCodeObject {
  std::string_view name;           // "dense_gemv"
  std::string_view arch;           // "gfx942"; "sm_80"
  std::span<const uint8_t> bytes;  // an ELF file; PTX
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_EMBEDDED_CODE_OBJECT_H_

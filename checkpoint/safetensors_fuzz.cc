// libFuzzer target of the header reader: `bazel run --config=clang //checkpoint:safetensors_fuzz`,
// arguments of libFuzzer after `--`. The ordinary tests run a fixed set of the same edits.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "checkpoint/dtype.h"
#include "checkpoint/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto header = lanewise::ParseSafetensorsHeader({data, size}, "fuzz");
  if (!header.ok()) return 0;
  int64_t next = 0;
  for (const lanewise::TensorInfo& tensor : header->tensors) {
    const auto bytes = lanewise::ByteCount(tensor.dtype, tensor.shape);
    if (!bytes.ok() || tensor.begin != next || *bytes != tensor.byte_count()) std::abort();
    next = tensor.end;
  }
  if (header->data_begin + next != static_cast<int64_t>(size)) std::abort();
  return 0;
}

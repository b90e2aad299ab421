// libFuzzer target of the header reader; the ordinary tests run a fixed set of such edits.
//
//   bazel run --config=clang --config=asan --copt=-fsanitize=fuzzer-no-link \
//       //checkpoint/safetensors:safetensors_fuzz -- -max_total_time=60

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "checkpoint/safetensors/dtype.h"
#include "checkpoint/safetensors/safetensors_header.h"

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

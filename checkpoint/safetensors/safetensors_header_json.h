#ifndef LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_HEADER_JSON_H_
#define LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_HEADER_JSON_H_

// The grammar of a safetensors header, without its sums: that its JSON has the form that the format
// wants. safetensors_header.h adds what the numbers have to satisfy.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/safetensors/tensor_info.h"

namespace lanewise {

struct SafetensorsHeaderJson {
  std::vector<TensorInfo> tensors;  // in the header's order; offsets as stated, in [0, 2^63)
  std::map<std::string, std::string> metadata;
};

// Messages name the tensor, but not the file. File offsets in them count 8 bytes before the text.
absl::StatusOr<SafetensorsHeaderJson> ReadSafetensorsHeaderJson(std::string_view text);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_HEADER_JSON_H_

#ifndef LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_HEADER_H_
#define LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_HEADER_H_

// The header of a safetensors file: 8 bytes of little-endian length n, n bytes of JSON, then the
// tensors' bytes. The JSON is an object of tensor name -> {"dtype", "shape", "data_offsets"}, and
// optionally "__metadata__" -> an object of strings. Offsets count from the end of the header.
// Format: https://github.com/huggingface/safetensors, section "Format".

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/safetensors/tensor_info.h"

namespace lanewise {

// The length field counts at most this many bytes.
inline constexpr int64_t kMaxSafetensorsHeaderBytes = 100'000'000;

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their bytes in the file, then of their names
  std::map<std::string, std::string> metadata;  // empty also where the file has none
  std::string_view json;   // the header's text without the spaces that pad it; views the input
  int64_t data_begin = 0;  // the file offset of the data section
};

// Reads the header of a whole file in memory and checks every rule of the format:
//  - the length field lies within the file and its limit;
//  - the header is UTF-8 JSON that begins with '{', with nothing but white space after its '}';
//  - no key occurs twice in any object; a tensor has exactly dtype, shape and data_offsets;
//  - dtypes are known, dimensions and offsets are integers in [0, 2^63), and no product overflows;
//  - begin <= end, end - begin is the size of that dtype and shape (whole bytes), and the tensors
//    cover the data section exactly: no overlap, no hole, nothing before, between or after them;
//  - metadata holds strings only.
// Empty tensors and scalars are ordinary. The format does not promise that a tensor's offset is a
// multiple of its element's size, so neither does this.
// Whatever the bytes are, this returns: a message names `file_name`, the tensor, what was found and
// what was expected. Depth of nesting costs no stack.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::span<const uint8_t> file,
                                                         std::string_view file_name);

// The same for a header's text alone, spaces that pad it included, with every check that needs no
// file: the data section is taken to end where the last tensor does. data_begin is 8 + the text's
// length. `origin` begins the messages.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeaderText(std::string_view text,
                                                             std::string_view origin);

// The header that Lanewise writes for tensors whose offsets are set: compact JSON, metadata first
// (its keys in order, left out where there are none), then the tensors in the order given. Refuses
// names and metadata that are not UTF-8, and a tensor named __metadata__; checks nothing else.
absl::StatusOr<std::string> SafetensorsHeaderText(
    std::span<const TensorInfo> tensors, const std::map<std::string, std::string>& metadata);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_HEADER_H_

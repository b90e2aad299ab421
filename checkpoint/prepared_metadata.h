#ifndef LANEWISE_CHECKPOINT_PREPARED_METADATA_H_
#define LANEWISE_CHECKPOINT_PREPARED_METADATA_H_

// What a prepared file says of itself. A prepared file is a safetensors file whose __metadata__
// holds, beside whatever else stands there:
//
//   lanewise.format       "1"
//   lanewise.target       "gfx942", "gfx950" or "flashmla"
//   lanewise.recipe       the recipe's name
//   lanewise.source       JSON: [{"file": name, "size": bytes, "xxh3": digest of the whole file}],
//                         the source file that this one has its name and header from
//   lanewise.tensor.NAME  JSON, one for each tensor NAME of the file: {"layout": tag, "shape":
//                         logical shape, "dtype": logical element type, "from": [source tensors],
//                         "params": {name: integer or string}, "xxh3": digest of the stored bytes}
//   lanewise.header_xxh3  digest of the header with this value empty
//
// Digests are XXH3-64 with seed 0 in 16 lower-case hexadecimal digits. The header's own digest is
// over its JSON text as it stands in the file, from its '{' to its '}' (so without the 8 length
// bytes and without the spaces that pad it), with the 16 digits of this one value taken out:
//   at = text.find("\"lanewise.header_xxh3\":\"") + 24     (unescaped, these characters occur once)
//   digest = xxh3(text[0 : at] + text[at + 16 :])
// A tensor that a layout moved is stored as U8, whatever shape and dtype it has logically. A tensor
// of layout "plain" is stored under its logical shape and dtype. Readers of format 1 pass over
// fields and lanewise.* keys that they do not know.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/safetensors/dtype.h"

namespace lanewise {

inline constexpr std::string_view kPreparedFormat = "1";

inline constexpr std::string_view kPreparedKeyPrefix = "lanewise.";
inline constexpr std::string_view kFormatKey = "lanewise.format";
inline constexpr std::string_view kTargetKey = "lanewise.target";
inline constexpr std::string_view kRecipeKey = "lanewise.recipe";
inline constexpr std::string_view kSourceKey = "lanewise.source";
inline constexpr std::string_view kTensorKeyPrefix = "lanewise.tensor.";
inline constexpr std::string_view kHeaderDigestKey = "lanewise.header_xxh3";

// Short names of layouts, for code that names one; the catalogue says which format 1 carries.
namespace layout_tag {
inline constexpr std::string_view kPlain = "plain";  // row-major, as in the source
inline constexpr std::string_view kGfx942Dense = "gfx942/dense";
inline constexpr std::string_view kGfx942DenseChunkQ = "gfx942/dense_chunk_q";
inline constexpr std::string_view kGfx942DenseCodes = "gfx942/dense_codes";
inline constexpr std::string_view kGfx942Fp4LaneMajor = "gfx942/fp4_lane_major";
inline constexpr std::string_view kGfx942Fp4TileMajor = "gfx942/fp4_tile_major";
inline constexpr std::string_view kGfx942CodesTileRounds = "gfx942/codes_tile_rounds";
inline constexpr std::string_view kGfx942RowCodes = "gfx942/row_codes";
inline constexpr std::string_view kAiterShuffleWeight = "aiter/shuffle_weight_16x16";
inline constexpr std::string_view kAiterE8m0Shuffle = "aiter/e8m0_shuffle";
inline constexpr std::string_view kFlashmlaQFused = "flashmla/q_fused";
inline constexpr std::string_view kFlashmlaOFused = "flashmla/o_fused";
inline constexpr std::string_view kFlashmlaOFusedChunk = "flashmla/o_fused_chunk";
}  // namespace layout_tag

// Those of layouts/catalogue.h that format 1 carries.
std::span<const std::string_view> AllLayoutTags();

using Param = std::variant<int64_t, std::string>;

// What is said of one tensor.
struct PreparedTensor {
  std::string layout;
  std::vector<int64_t> shape;  // logical
  DType dtype = DType::kU8;    // logical
  std::vector<std::string> from;
  std::map<std::string, Param> params;
  std::string xxh3;  // of the stored bytes

  // The parameter of that name; NotFound or InvalidArgument names it.
  absl::StatusOr<int64_t> IntParam(std::string_view name) const;
  absl::StatusOr<std::string> TextParam(std::string_view name) const;

  friend bool operator==(const PreparedTensor&, const PreparedTensor&) = default;
};

struct PreparedSource {
  std::string file;
  int64_t size = 0;
  std::string xxh3;

  friend bool operator==(const PreparedSource&, const PreparedSource&) = default;
};

// The JSON text of the metadata values; equal structures give equal bytes. A parameter named in
// `late`, an integer, is followed by spaces up to 20 columns, so that the text is as long whatever
// its value: a writer can leave room for it. Refuses text that is not UTF-8.
absl::StatusOr<std::string> PreparedTensorJson(const PreparedTensor& tensor,
                                               std::span<const std::string> late = {});
absl::StatusOr<std::string> PreparedSourcesJson(std::span<const PreparedSource> sources);

// And back. `origin` begins the messages. Refuses a field that is missing or of the wrong type, a
// shape that overflows, an unknown dtype and a digest that is not 16 lower-case hexadecimal digits.
absl::StatusOr<PreparedTensor> ParsePreparedTensor(std::string_view json, std::string_view origin);
absl::StatusOr<std::vector<PreparedSource>> ParsePreparedSources(std::string_view json,
                                                                 std::string_view origin);

// The digest of a header's JSON text, as defined above. Refuses a text in which the key does not
// stand as Lanewise writes it, followed by 16 characters and a quote.
absl::StatusOr<std::string> HeaderDigest(std::string_view header_json);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARED_METADATA_H_

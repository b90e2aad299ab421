#ifndef LANEWISE_CHECKPOINT_REWRITE_QUANTIZE_H_
#define LANEWISE_CHECKPOINT_REWRITE_QUANTIZE_H_

// Float checkpoints to MXFP8 or MXFP4 and back, streamed: whatever the size of the checkpoint,
// memory holds some rows.
//
// `NAME.weight` of F32, F16 or BF16 becomes `NAME.weight` and `NAME.weight_scale`:
//
//   format            NAME.weight                             NAME.weight_scale
//   e4m3fn, e4m3fnuz  F8_E4M3 or F8_E4M3FNUZ [N, K]           F8_E8M0 [N, K / 32]; of square blocks
//                                                             [N / 32, K / 32]
//   e2m1              U8 [N, K / 2], even k in the low nibble the same
//
// which the recipes generic-mxfp8 (e4m3fn) and generic-mxfp4 read. A weight [E, N, K] is E of them.
// The codes of a tensor NAME of another ending are NAME_scale, which no recipe reads.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/rewrite/rewrite.h"
#include "checkpoint/stream/output_fates.h"
#include "weights/quantize.h"

namespace lanewise {

// Metadata of a quantized file: the options as JSON. Dequantizing removes it.
inline constexpr std::string_view kQuantizedKey = "quantized";

// The name of the codes that quantizing puts beside a tensor.
std::string QuantizedScaleName(const std::string& name);

struct QuantizeRequest : RewriteRequest {
  MxOptions options;  // the format, the rule, and how many rows share a code
  // Names to quantize, and of those the ones not to, as shell patterns (*, ?, [...]).
  std::vector<std::string> only = {"*.weight"};
  std::vector<std::string> except = {"*embed*", "*norm*", "*lm_head*", "*router*", "*.gate.weight"};
};

// What quantizing did to one tensor: x the source's values, y what the result stands for. Elements
// of blocks that became NaN count in nan_blocks alone.
struct QuantizeError {
  std::string name;
  std::int64_t elements = 0;
  double largest = 0;       // max |x - y|
  double relative_rms = 0;  // sqrt(sum (x - y)^2 / sum x^2)
  std::int64_t zeroed = 0;  // elements that were not zero and are now
  std::int64_t nan_blocks = 0;
};

struct QuantizeReport {
  std::vector<FileReport> files;
  std::vector<QuantizeError> tensors;  // of the files that this run wrote
  // Tensors of a matching name that stay as they are, each with the reason.
  std::vector<std::string> left;
  // Of all files: how many are quantized, and how many of their names do not end in .weight, so
  // that no recipe that is built in knows them.
  std::int64_t quantized = 0;
  std::int64_t strange_names = 0;
  std::int64_t copied = 0;
  std::int64_t source_bytes = 0;
  std::int64_t bytes = 0;
  double relative_rms = 0;  // over all quantized tensors
};

// Refuses what RewriteCheckpoint does, options that are not valid, a name that is taken already,
// and a checkpoint in which nothing is to be quantized. Tensors that do not match are copied; ones
// that match but are no float matrices, or whose K (rows, with square blocks) is no multiple of 32,
// are copied and reported.
absl::StatusOr<QuantizeReport> QuantizeCheckpoint(const QuantizeRequest& request,
                                                  const RewriteProgress& progress);

struct DequantizeRequest : RewriteRequest {
  bool float32 = false;  // F32 instead of BF16
};

struct DequantizeReport {
  std::vector<FileReport> files;
  std::int64_t dequantized = 0;
  std::int64_t copied = 0;
  // 8-bit and 4-bit float tensors without scales beside them: copied.
  std::vector<std::string> left;
  std::int64_t source_bytes = 0;
  std::int64_t bytes = 0;
};

// Every weight with E8M0 codes beside it (`.weight` or `.weight_packed` with `.weight_scale`,
// `.weight_scale_inv` or `.scale`; F8_E4M3, F8_E4M3FNUZ, F8_E5M2, F8_E5M2FNUZ, or U8, I8 and F4 for
// e2m1) becomes `.weight` of BF16 or F32, rounded once; the codes go. So does whatever
// QuantizeCheckpoint made, under its own name. A code stands for 1 x 32 elements, 32 x 32 or 128 x
// 128, as the shapes say; the last blocks of 128 may be cut off. Refuses, by name, other shapes,
// and scales that are not E8M0, F32 multipliers (DeepSeek V3's weight_scale_inv) among them.
absl::StatusOr<DequantizeReport> DequantizeCheckpoint(const DequantizeRequest& request,
                                                      const RewriteProgress& progress);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_REWRITE_QUANTIZE_H_

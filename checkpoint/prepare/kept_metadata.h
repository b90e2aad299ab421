#ifndef LANEWISE_CHECKPOINT_PREPARE_KEPT_METADATA_H_
#define LANEWISE_CHECKPOINT_PREPARE_KEPT_METADATA_H_

// What prepare keeps in a prepared file beside what format 1 defines, so that it can be restored,
// and checked for being complete.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/prepare/preparation.h"
#include "checkpoint/prepared.h"

namespace lanewise {

// The header text of the source file of the same name, its spaces included; the recipe's JSON; the
// options as JSON; and every file of the source, [{"file": name, "size": bytes}, ...].
inline constexpr std::string_view kSourceHeaderKey = "lanewise.x.source_header";
inline constexpr std::string_view kRecipeTextKey = "lanewise.x.recipe";
inline constexpr std::string_view kOptionsKey = "lanewise.x.options";
inline constexpr std::string_view kSourceFilesKey = "lanewise.x.source_files";
// The name of the index beside the file, where there is one.
inline constexpr std::string_view kIndexKey = "lanewise.x.index";

// Names of the tensors that lossless stores: signs of zeros (weights/zero_signs.h) of a prepared
// tensor, and the original of one that was dequantized.
std::string ZeroSignsName(std::string_view tensor);
std::string OriginalName(std::string_view tensor);

// An index can only name files that hold a tensor. A file of an indexed checkpoint that would have
// none, because its tensors are fused into ones of other files, gets an empty one of this name: it
// still keeps its source's header.
std::string EmptyFileName(std::string_view file);

std::string OptionsJson(const PreparationOptions& options, bool lossless);
absl::StatusOr<PreparationOptions> ParseOptions(std::string_view json, std::string_view origin);
// Whether the options say lossless; of text that ParseOptions takes.
bool IsLossless(std::string_view options_json);

struct SourceFileName {
  std::string file;
  std::int64_t size = 0;

  friend bool operator==(const SourceFileName&, const SourceFileName&) = default;
};

std::string SourceFilesJson(const TensorSet& source);

// Every file of the checkpoint that `prepared` was made from, also where prepared files are
// missing. Files of earlier versions name them all in lanewise.source. Refuses files that do not
// agree.
absl::StatusOr<std::vector<SourceFileName>> SourceFilesOf(const PreparedCheckpoint& prepared);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARE_KEPT_METADATA_H_

#include "checkpoint/prepare/kept_metadata.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "nlohmann/json.hpp"

namespace lanewise {

std::string ZeroSignsName(std::string_view tensor) {
  return absl::StrCat("lanewise.zero_signs/", AbslView(tensor));
}

std::string OriginalName(std::string_view tensor) {
  return absl::StrCat("lanewise.original/", AbslView(tensor));
}

std::string EmptyFileName(std::string_view file) {
  return absl::StrCat("lanewise.empty/", AbslView(file));
}

std::string OptionsJson(const PreparationOptions& options, bool lossless) {
  return nlohmann::json{{"target", std::string(TargetName(options.target))},
                        {"ranks", options.ranks},
                        {"rank", options.rank},
                        {"pass_through", options.pass_through},
                        {"batch_invariant", options.batch_invariant},
                        {"lossless", lossless}}
      .dump();
}

absl::StatusOr<PreparationOptions> ParseOptions(std::string_view json, std::string_view origin) {
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  const auto refuse = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat(AbslView(origin), ": ", AbslView(kOptionsKey),
                     " is not what prepare writes: ", AbslView(json)));
  };
  if (!parsed.is_object()) return refuse();
  for (const char* name : {"ranks", "rank"}) {
    if (!parsed.contains(name) || !parsed[name].is_number_integer()) return refuse();
  }
  for (const char* name : {"pass_through", "batch_invariant"}) {
    if (!parsed.contains(name) || !parsed[name].is_boolean()) return refuse();
  }
  if (!parsed.contains("target") || !parsed["target"].is_string()) return refuse();
  const absl::StatusOr<Target> target = TargetNamed(parsed["target"].get<std::string>());
  if (!target.ok()) return target.status();
  const std::int64_t ranks = parsed["ranks"].get<std::int64_t>();
  const std::int64_t rank = parsed["rank"].get<std::int64_t>();
  if (ranks < 1 || ranks > 1'000'000 || rank < 0 || rank >= ranks) return refuse();
  return PreparationOptions{*target, static_cast<int>(ranks), static_cast<int>(rank),
                            parsed["pass_through"].get<bool>(),
                            parsed["batch_invariant"].get<bool>()};
}

bool IsLossless(std::string_view options_json) {
  const nlohmann::json parsed =
      nlohmann::json::parse(options_json, nullptr, /*allow_exceptions=*/false);
  return parsed.is_object() && parsed.contains("lossless") && parsed["lossless"] == true;
}

std::string SourceFilesJson(const TensorSet& source) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const TensorSet::Shard& shard : source.shards()) {
    files.push_back({{"file", shard.name}, {"size", shard.file.file_size()}});
  }
  return files.dump();
}

namespace {

absl::StatusOr<std::vector<SourceFileName>> ParseSourceFiles(std::string_view text,
                                                             std::string_view path) {
  const nlohmann::json parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<SourceFileName> files;
  bool right = parsed.is_array();
  for (const nlohmann::json& one : parsed) {
    right = right && one.is_object() && one.contains("file") && one["file"].is_string() &&
            one.contains("size") && one["size"].is_number_integer();
    if (!right) break;
    files.push_back({one["file"].get<std::string>(), one["size"].get<std::int64_t>()});
  }
  if (right) return files;
  return absl::InvalidArgumentError(
      absl::StrCat(AbslView(path), ": ", AbslView(kSourceFilesKey), " is not what prepare writes"));
}

}  // namespace

absl::StatusOr<std::vector<SourceFileName>> SourceFilesOf(const PreparedCheckpoint& prepared) {
  std::vector<SourceFileName> files;
  const TensorSet::Shard* from = nullptr;
  for (const TensorSet::Shard& shard : prepared.set().shards()) {
    const auto kept = shard.file.metadata().find(std::string(kSourceFilesKey));
    if (kept == shard.file.metadata().end()) continue;
    absl::StatusOr<std::vector<SourceFileName>> its =
        ParseSourceFiles(kept->second, shard.file.path());
    if (!its.ok()) return its.status();
    if (from != nullptr && *its != files) {
      return absl::FailedPreconditionError(absl::StrCat(
          shard.file.path(), " and ", from->file.path(), " were prepared from different sources"));
    }
    files = *std::move(its);
    from = &shard;
  }
  if (from != nullptr) return files;
  for (const PreparedSource& source : prepared.sources()) {
    files.push_back({source.file, source.size});
  }
  return files;
}

}  // namespace lanewise

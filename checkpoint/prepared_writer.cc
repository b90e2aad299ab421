#include "checkpoint/prepared_writer.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/digest.h"
#include "checkpoint/files/text.h"
#include "checkpoint/safetensors/safetensors_writer.h"

namespace lanewise {
namespace {

// Stands for a digest that is not known yet.
constexpr std::string_view kNoDigest = "................";
static_assert(kNoDigest.size() == kDigestDigits);

constexpr std::string_view kToolKeyPrefix = "lanewise.x.";

absl::Status CheckPlan(const PreparedTensorPlan& plan) {
  const auto refuse = [&](std::string_view problem) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", Quoted(plan.stored.name), ": ", AbslView(problem)));
  };
  const auto tags = AllLayoutTags();
  if (std::find(tags.begin(), tags.end(), plan.what.layout) == tags.end()) {
    return refuse(absl::StrCat("unknown layout ", Quoted(plan.what.layout)));
  }
  if (plan.what.layout == layout_tag::kPlain) {
    if (plan.stored.dtype != plan.what.dtype || plan.stored.shape != plan.what.shape) {
      return refuse("layout 'plain' stores a tensor under its own shape and dtype");
    }
  } else if (plan.stored.dtype != DType::kU8) {
    return refuse(absl::StrCat("layout ", Quoted(plan.what.layout), " stores U8"));
  }
  if (const absl::StatusOr<int64_t> count = ElementCount(plan.what.shape); !count.ok()) {
    return refuse(StdView(count.status().message()));
  }
  for (const std::string& name : plan.late) {
    const auto param = plan.what.params.find(name);
    if (param != plan.what.params.end() && !std::holds_alternative<int64_t>(param->second)) {
      return refuse(absl::StrCat("late parameter ", Quoted(name), " is text"));
    }
  }
  return absl::OkStatus();
}

// A tensor's digest as its bytes pass.
struct Progress {
  std::mutex mutex;
  lanewise::Digest digest;
  int64_t digested = 0;            // bytes [0, digested) are in
  std::set<std::string> awaiting;  // late parameters without a value
  size_t json_size = 0;            // of the tensor's description
};

}  // namespace

struct PreparedWriter::State {
  explicit State(SafetensorsWriter safetensors_writer) : writer(std::move(safetensors_writer)) {}

  SafetensorsWriter writer;
  std::vector<PreparedTensorPlan> plans;
  std::vector<std::unique_ptr<Progress>> progress;  // by tensor
  std::vector<PreparedSource> sources;
};

PreparedWriter::PreparedWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
PreparedWriter::PreparedWriter(PreparedWriter&&) noexcept = default;
PreparedWriter& PreparedWriter::operator=(PreparedWriter&&) noexcept = default;
PreparedWriter::~PreparedWriter() = default;

absl::StatusOr<PreparedWriter> PreparedWriter::Create(const std::string& path, const About& about,
                                                      std::vector<PreparedTensorPlan> tensors) {
  const auto refuse = [&](std::string_view problem) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", AbslView(problem)));
  };
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : about.more) {
    if (key.starts_with(kPreparedKeyPrefix) && !key.starts_with(kToolKeyPrefix)) {
      return refuse(absl::StrCat("metadata ", Quoted(key), " is not the caller's to set"));
    }
    metadata.emplace(key, value);
  }
  metadata.emplace(kFormatKey, kPreparedFormat);
  metadata.emplace(kTargetKey, about.target);
  metadata.emplace(kRecipeKey, about.recipe);
  metadata.emplace(kHeaderDigestKey, kNoDigest);
  std::vector<PreparedSource> sources = about.sources;
  for (PreparedSource& source : sources) {
    if (source.xxh3.empty()) source.xxh3 = kNoDigest;
  }
  const absl::StatusOr<std::string> sources_json = PreparedSourcesJson(sources);
  if (!sources_json.ok()) return refuse(StdView(sources_json.status().message()));
  metadata.emplace(kSourceKey, *sources_json);

  std::vector<TensorSpec> specs;
  std::vector<size_t> growing;
  std::vector<std::unique_ptr<Progress>> progress;
  for (PreparedTensorPlan& plan : tensors) {
    if (const absl::Status status = CheckPlan(plan); !status.ok()) {
      return refuse(StdView(status.message()));
    }
    progress.push_back(std::make_unique<Progress>());
    for (const std::string& name : plan.late) {
      plan.what.params.emplace(name, int64_t{0});
      progress.back()->awaiting.insert(name);
    }
    plan.what.xxh3 = kNoDigest;
    const absl::StatusOr<std::string> json = PreparedTensorJson(plan.what, plan.late);
    if (!json.ok()) return refuse(StdView(json.status().message()));
    progress.back()->json_size = json->size();
    metadata.emplace(absl::StrCat(AbslView(kTensorKeyPrefix), plan.stored.name), *json);
    if (plan.grows) growing.push_back(specs.size());
    specs.push_back(plan.stored);
  }
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(
      path, std::move(specs), std::move(metadata), SafetensorsWriter::Order::kWidestFirst, growing);
  if (!writer.ok()) return writer.status();
  auto state = std::make_unique<State>(*std::move(writer));
  state->plans = std::move(tensors);
  state->progress = std::move(progress);
  state->sources = std::move(sources);
  return PreparedWriter(std::move(state));
}

absl::Status PreparedWriter::Write(size_t tensor, int64_t offset, std::span<const uint8_t> bytes) {
  // The writer first: it refuses what is out of range or there already.
  absl::Status status = WriteUndigested(tensor, offset, bytes);
  if (status.ok()) Digest(tensor, offset, bytes);
  return status;
}

absl::Status PreparedWriter::WriteUndigested(size_t tensor, int64_t offset,
                                             std::span<const uint8_t> bytes) {
  return state_->writer.Write(tensor, offset, bytes);
}

void PreparedWriter::Digest(size_t tensor, int64_t offset, std::span<const uint8_t> bytes) {
  Progress& progress = *state_->progress[tensor];
  const std::lock_guard lock(progress.mutex);
  if (offset != progress.digested) return;
  progress.digest.Update(bytes);
  progress.digested += static_cast<int64_t>(bytes.size());
}

absl::Status PreparedWriter::Append(size_t tensor, std::span<const uint8_t> bytes) {
  absl::Status status = state_->writer.Append(tensor, bytes);
  if (status.ok()) Digest(tensor, state_->progress[tensor]->digested, bytes);
  return status;
}

absl::Status PreparedWriter::SetParam(size_t tensor, std::string_view name, int64_t value) {
  if (tensor >= state_->plans.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor number ", tensor, " of ", state_->plans.size()));
  }
  PreparedTensorPlan& plan = state_->plans[tensor];
  Progress& progress = *state_->progress[tensor];
  const std::lock_guard lock(progress.mutex);
  if (progress.awaiting.erase(std::string(name)) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", Quoted(plan.stored.name), ": parameter ", Quoted(name),
                     " was not declared as late, or has its value already"));
  }
  plan.what.params[std::string(name)] = value;
  return absl::OkStatus();
}

absl::Status PreparedWriter::SetSourceDigest(size_t source, std::string_view xxh3) {
  if (source >= state_->sources.size() || state_->sources[source].xxh3 != kNoDigest ||
      xxh3.size() != kDigestDigits) {
    return absl::InvalidArgumentError(
        absl::StrCat("no digest ", Quoted(xxh3), " is awaited for source number ", source));
  }
  state_->sources[source].xxh3 = xxh3;
  return absl::OkStatus();
}

absl::Status PreparedWriter::Finish() {
  State& state = *state_;
  for (const PreparedSource& source : state.sources) {
    if (source.xxh3 == kNoDigest) {
      return absl::FailedPreconditionError(
          absl::StrCat("source ", Quoted(source.file), " was never given its digest"));
    }
  }
  const absl::StatusOr<std::string> sources_json = PreparedSourcesJson(state.sources);
  if (!sources_json.ok()) return sources_json.status();
  if (absl::Status status = state.writer.SetMetadata(kSourceKey, *sources_json); !status.ok()) {
    return status;
  }
  if (absl::Status status = state.writer.CheckComplete(); !status.ok()) return status;

  std::vector<uint8_t> buffer;
  for (size_t i = 0; i < state.plans.size(); ++i) {
    PreparedTensorPlan& plan = state.plans[i];
    Progress& progress = *state.progress[i];
    if (!progress.awaiting.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("tensor ", Quoted(plan.stored.name), ": late parameter ",
                       Quoted(*progress.awaiting.begin()), " was never given its value"));
    }
    const int64_t size = state.writer.tensors()[i].byte_count();
    while (progress.digested < size) {
      constexpr int64_t kPiece = int64_t{1} << 22;
      buffer.resize(static_cast<size_t>(std::min(kPiece, size - progress.digested)));
      if (absl::Status status = state.writer.Read(i, progress.digested, buffer); !status.ok()) {
        return status;
      }
      progress.digest.Update(buffer);
      progress.digested += static_cast<int64_t>(buffer.size());
    }
    plan.what.xxh3 = progress.digest.Hex();
    if (plan.grows) plan.what.shape = state.writer.tensors()[i].shape;
    absl::StatusOr<std::string> json = PreparedTensorJson(plan.what, plan.late);
    if (!json.ok()) return json.status();
    json->resize(progress.json_size, ' ');
    if (absl::Status status = state.writer.SetMetadata(
            absl::StrCat(AbslView(kTensorKeyPrefix), plan.stored.name), *json);
        !status.ok()) {
      return status;
    }
  }
  const absl::StatusOr<std::string> digest = HeaderDigest(state.writer.HeaderJson());
  if (!digest.ok()) return digest.status();
  if (absl::Status status = state.writer.SetMetadata(kHeaderDigestKey, *digest); !status.ok()) {
    return status;
  }
  return state.writer.Finish();
}

}  // namespace lanewise

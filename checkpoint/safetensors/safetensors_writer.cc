#include "checkpoint/safetensors/safetensors_writer.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/files/atomic_file.h"
#include "checkpoint/files/json_text.h"
#include "checkpoint/files/text.h"
#include "checkpoint/safetensors/dtype.h"

namespace lanewise {
namespace {

// Which bytes of a tensor have been written, as disjoint runs that do not touch.
class Coverage {
 public:
  // Adds [begin, end). False, changing nothing, if any of it was there.
  bool Add(int64_t begin, int64_t end) {
    if (begin == end) return true;
    auto next = runs_.lower_bound(begin);
    if (next != runs_.end() && next->first < end) return false;
    if (next != runs_.begin()) {
      const auto before = std::prev(next);
      if (before->second > begin) return false;
      if (before->second == begin) {
        begin = before->first;
        runs_.erase(before);
      }
    }
    if (next != runs_.end() && next->first == end) {
      end = next->second;
      runs_.erase(next);
    }
    runs_.emplace(begin, end);
    return true;
  }

  // The first byte of [0, size) that is not there, or size.
  int64_t FirstMissing(int64_t size) const {
    if (size == 0 || runs_.empty() || runs_.begin()->first > 0) return 0;
    return std::min(size, runs_.begin()->second);
  }

 private:
  std::map<int64_t, int64_t> runs_;  // begin -> end
};

// Gives each tensor its place, in `order`. The result is as declared.
absl::StatusOr<std::vector<TensorInfo>> Place(std::vector<TensorSpec> specs,
                                              std::span<const size_t> order) {
  std::vector<TensorInfo> tensors(specs.size());
  int64_t next = 0;
  for (const size_t i : order) {
    const absl::StatusOr<int64_t> size = ByteCount(specs[i].dtype, specs[i].shape);
    if (!size.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", Quoted(specs[i].name), ": ", size.status().message()));
    }
    // Leaves room for the largest header below 2^63 as well.
    if (*size > std::numeric_limits<int64_t>::max() - 2 * kMaxSafetensorsHeaderBytes - next) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", Quoted(specs[i].name), ": the file would pass 2^63 bytes"));
    }
    static_cast<TensorSpec&>(tensors[i]) = std::move(specs[i]);
    tensors[i].begin = next;
    tensors[i].end = next += *size;
  }
  return tensors;
}

}  // namespace

struct SafetensorsWriter::State {
  explicit State(AtomicFile atomic_file) : file(std::move(atomic_file)) {}

  // Header text for the metadata as it is, or the text that was given.
  absl::StatusOr<std::string> Header() const {
    if (!fixed_header.empty()) return fixed_header;
    std::vector<TensorInfo> in_file_order;
    in_file_order.reserve(tensors.size());
    for (const size_t i : order) in_file_order.push_back(tensors[i]);
    return SafetensorsHeaderText(in_file_order, metadata);
  }

  std::string fixed_header;
  std::vector<TensorInfo> tensors;  // as declared
  std::vector<size_t> order;        // the order of their bytes
  std::map<std::string, std::string> metadata;
  int64_t data_begin = 0;
  std::vector<size_t> growing;  // ascending
  std::vector<int64_t> most;    // bytes of each of them
  size_t grows = 0;             // the one of them that has bytes now
  AtomicFile file;

  mutable std::mutex mutex;        // for what follows
  std::vector<Coverage> coverage;  // by tensor
  absl::Status broken;             // the first failure of the disk
  bool finished = false;
};

SafetensorsWriter::SafetensorsWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&&) noexcept = default;
SafetensorsWriter& SafetensorsWriter::operator=(SafetensorsWriter&&) noexcept = default;
SafetensorsWriter::~SafetensorsWriter() = default;

namespace {

// Where the tensors of a file go.
struct Plan {
  std::vector<TensorInfo> tensors;  // as declared
  std::vector<size_t> order;        // the order of their bytes
  std::string header;               // padded
  int64_t data_bytes = 0;
};

absl::StatusOr<Plan> PlanFile(const std::string& path, std::vector<TensorSpec> tensors,
                              const std::map<std::string, std::string>& metadata,
                              SafetensorsWriter::Order order, SafetensorsWriter::Growing growing) {
  Plan plan;
  plan.order.resize(tensors.size());
  for (size_t i = 0; i < plan.order.size(); ++i) plan.order[i] = i;
  if (order == SafetensorsWriter::Order::kWidestFirst) {
    // Types below a byte come last: whatever follows them needs no alignment.
    std::sort(plan.order.begin(), plan.order.end(), [&](size_t a, size_t b) {
      return std::pair(-BitsPerElement(tensors[a].dtype), a) <
             std::pair(-BitsPerElement(tensors[b].dtype), b);
    });
  }
  for (const size_t i : growing)
    plan.order.erase(std::find(plan.order.begin(), plan.order.end(), i));
  plan.order.insert(plan.order.end(), growing.begin(), growing.end());
  const auto refuse = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  };
  absl::StatusOr<std::vector<TensorInfo>> placed = Place(std::move(tensors), plan.order);
  if (!placed.ok()) return refuse(placed.status());
  plan.tensors = *std::move(placed);
  std::vector<TensorInfo> in_file_order;
  in_file_order.reserve(plan.tensors.size());
  for (const size_t i : plan.order) in_file_order.push_back(plan.tensors[i]);
  if (!in_file_order.empty()) plan.data_bytes = in_file_order.back().end;
  absl::StatusOr<std::string> header = SafetensorsHeaderText(in_file_order, metadata);
  if (!header.ok()) return refuse(header.status());
  plan.header = *std::move(header);
  const int64_t padded = (static_cast<int64_t>(plan.header.size()) + 7) / 8 * 8;
  // The reader's own rules, duplicate names among them.
  if (padded > kMaxSafetensorsHeaderBytes) {
    return refuse(absl::InvalidArgumentError(absl::StrCat("the header would have ", padded,
                                                          " bytes, the format allows ",
                                                          kMaxSafetensorsHeaderBytes)));
  }
  if (const auto parsed = ParseSafetensorsHeaderText(plan.header, path); !parsed.ok()) {
    return parsed.status();
  }
  plan.header.resize(static_cast<size_t>(padded), ' ');
  return plan;
}

}  // namespace

absl::StatusOr<std::string> SafetensorsWriter::HeaderOf(
    const std::string& path, std::vector<TensorSpec> tensors,
    const std::map<std::string, std::string>& metadata, Order order) {
  absl::StatusOr<Plan> plan = PlanFile(path, std::move(tensors), metadata, order, {});
  if (!plan.ok()) return plan.status();
  return std::move(plan->header);
}

absl::StatusOr<SafetensorsWriter> SafetensorsWriter::Create(
    const std::string& path, std::vector<TensorSpec> tensors,
    std::map<std::string, std::string> metadata, Order order, Growing growing) {
  for (const size_t tensor : growing) {
    if (tensor < tensors.size() && tensors[tensor].dtype == DType::kU8 &&
        tensors[tensor].shape.size() == 1) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": tensor number ", tensor, " cannot grow: it is no list of bytes"));
  }
  // With every growing tensor at its largest: the header gets no longer than this one.
  absl::StatusOr<Plan> plan = PlanFile(path, std::move(tensors), metadata, order, growing);
  if (!plan.ok()) return plan.status();
  const int64_t data_begin = 8 + static_cast<int64_t>(plan->header.size());
  std::vector<int64_t> most;
  for (const size_t tensor : growing) {
    TensorInfo& info = plan->tensors[tensor];
    most.push_back(info.byte_count());
    info.begin = info.end = plan->tensors[growing[0]].begin;
    info.shape = {0};
  }
  if (!growing.empty()) plan->data_bytes = plan->tensors[growing[0]].begin;
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path, data_begin + plan->data_bytes);
  if (!file.ok()) return file.status();
  auto state = std::make_unique<State>(*std::move(file));
  state->tensors = std::move(plan->tensors);
  state->order = std::move(plan->order);
  state->metadata = std::move(metadata);
  state->data_begin = data_begin;
  state->growing.assign(growing.begin(), growing.end());
  state->most = std::move(most);
  state->coverage.resize(state->tensors.size());
  return SafetensorsWriter(std::move(state));
}

absl::StatusOr<SafetensorsWriter> SafetensorsWriter::CreateWithHeader(const std::string& path,
                                                                      std::string header_text) {
  absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeaderText(header_text, path);
  if (!header.ok()) return header.status();
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(
      path, header->data_begin + (header->tensors.empty() ? 0 : header->tensors.back().end));
  if (!file.ok()) return file.status();
  auto state = std::make_unique<State>(*std::move(file));
  state->tensors = std::move(header->tensors);
  state->data_begin = header->data_begin;
  state->coverage.resize(state->tensors.size());
  state->fixed_header = std::move(header_text);
  return SafetensorsWriter(std::move(state));
}

const std::vector<TensorInfo>& SafetensorsWriter::tensors() const { return state_->tensors; }

namespace {

// That bytes [offset, offset + size) lie in a tensor of the file.
absl::Status CheckRange(const std::vector<TensorInfo>& tensors, const std::string& path,
                        size_t tensor, int64_t offset, size_t size) {
  if (tensor >= tensors.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": tensor number ", tensor, " of ", tensors.size()));
  }
  const TensorInfo& info = tensors[tensor];
  if (offset < 0 || offset > info.byte_count() ||
      size > static_cast<size_t>(info.byte_count() - offset)) {
    return absl::OutOfRangeError(absl::StrCat(path, ": tensor ", Quoted(info.name), ": ", size,
                                              " bytes at offset ", offset, ", but it has ",
                                              info.byte_count(), " bytes"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SafetensorsWriter::Write(size_t tensor, int64_t offset,
                                      std::span<const uint8_t> bytes) {
  State& state = *state_;
  if (absl::Status status =
          CheckRange(state.tensors, state.file.path(), tensor, offset, bytes.size());
      !status.ok()) {
    return status;
  }
  const TensorInfo& info = state.tensors[tensor];
  const int64_t end = offset + static_cast<int64_t>(bytes.size());
  {
    const std::lock_guard lock(state.mutex);
    if (state.finished) {
      return absl::FailedPreconditionError(
          absl::StrCat(state.file.path(), ": is already complete"));
    }
    if (!state.broken.ok()) return state.broken;
    if (!state.coverage[tensor].Add(offset, end)) {
      return absl::AlreadyExistsError(absl::StrCat(state.file.path(), ": tensor ",
                                                   Quoted(info.name), ": bytes of [", offset, ", ",
                                                   end, ") were written before"));
    }
  }
  const absl::Status status = state.file.Write(state.data_begin + info.begin + offset, bytes);
  if (!status.ok()) {
    const std::lock_guard lock(state.mutex);
    if (state.broken.ok()) state.broken = status;
  }
  return status;
}

absl::Status SafetensorsWriter::Append(size_t tensor, std::span<const uint8_t> bytes) {
  State& state = *state_;
  const size_t number = static_cast<size_t>(
      std::lower_bound(state.growing.begin(), state.growing.end(), tensor) - state.growing.begin());
  if (number == state.growing.size() || state.growing[number] != tensor) {
    return absl::InvalidArgumentError(
        absl::StrCat(state.file.path(), ": tensor number ", tensor, " does not grow"));
  }
  if (bytes.empty()) return absl::OkStatus();
  TensorInfo& info = state.tensors[tensor];
  const int64_t size = info.byte_count();
  const int64_t room = state.most[number] - size;
  if (number < state.grows || std::ssize(bytes) > room) {
    return absl::OutOfRangeError(absl::StrCat(
        state.file.path(), ": tensor ", Quoted(info.name), ": ", bytes.size(), " bytes more, but ",
        number < state.grows ? "what follows it has begun" : absl::StrCat(room, " find room")));
  }
  state.grows = number;
  info.end += std::ssize(bytes);
  info.shape = {info.byte_count()};
  for (size_t i = number + 1; i < state.growing.size(); ++i) {
    TensorInfo& later = state.tensors[state.growing[i]];
    later.begin = later.end = info.end;
  }
  return Write(tensor, size, bytes);
}

absl::Status SafetensorsWriter::Read(size_t tensor, int64_t offset,
                                     std::span<uint8_t> bytes) const {
  const State& state = *state_;
  if (absl::Status status =
          CheckRange(state.tensors, state.file.path(), tensor, offset, bytes.size());
      !status.ok()) {
    return status;
  }
  return state.file.Read(state.data_begin + state.tensors[tensor].begin + offset, bytes);
}

absl::Status SafetensorsWriter::SetMetadata(std::string_view key, std::string_view value) {
  State& state = *state_;
  const auto found = state.metadata.find(std::string(key));
  if (found == state.metadata.end()) {
    return absl::NotFoundError(
        absl::StrCat(state.file.path(), ": no metadata ", Quoted(key), " was declared"));
  }
  const absl::StatusOr<std::string> old_text = JsonString(found->second);
  const absl::StatusOr<std::string> new_text = JsonString(value);
  if (!new_text.ok()) return new_text.status();
  if (old_text->size() != new_text->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(state.file.path(), ": metadata ", Quoted(key), " has room for ",
                     old_text->size() - 2, " bytes, its value takes ", new_text->size() - 2));
  }
  found->second = value;
  return absl::OkStatus();
}

std::string SafetensorsWriter::HeaderJson() const {
  std::string text = *state_->Header();  // Create checked everything that can be wrong with it
  text.resize(text.find_last_of('}') + 1);
  return text;
}

absl::Status SafetensorsWriter::CheckComplete() const {
  const State& state = *state_;
  const std::lock_guard lock(state.mutex);
  if (state.finished) {
    return absl::FailedPreconditionError(absl::StrCat(state.file.path(), ": is already complete"));
  }
  if (!state.broken.ok()) return state.broken;
  for (size_t i = 0; i < state.tensors.size(); ++i) {
    const TensorInfo& info = state.tensors[i];
    const int64_t missing = state.coverage[i].FirstMissing(info.byte_count());
    if (missing < info.byte_count()) {
      return absl::FailedPreconditionError(
          absl::StrCat(state.file.path(), ": tensor ", Quoted(info.name), ": byte ", missing,
                       " of ", info.byte_count(), " was never written"));
    }
  }
  return absl::OkStatus();
}

absl::Status SafetensorsWriter::Finish() {
  if (absl::Status status = CheckComplete(); !status.ok()) return status;
  State& state = *state_;
  {
    const std::lock_guard lock(state.mutex);
    state.finished = true;
  }
  absl::StatusOr<std::string> header = state.Header();
  if (!header.ok()) return header.status();
  header->resize(static_cast<size_t>(state.data_begin) - 8, ' ');
  std::string prefix;
  for (int i = 0; i < 8; ++i) prefix.push_back(static_cast<char>(header->size() >> (8 * i)));
  prefix += *header;
  absl::Status status =
      state.file.Write(0, {reinterpret_cast<const uint8_t*>(prefix.data()), prefix.size()});
  if (!status.ok()) return status;
  return state.file.Commit();
}

}  // namespace lanewise

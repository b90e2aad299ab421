#include "checkpoint/safetensors/written_digest.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace lanewise {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

}  // namespace

WrittenDigest::WrittenDigest(const SafetensorsWriter& writer, const std::string& header_text)
    : writer_(writer), in_order_(writer.tensors().size()) {
  std::uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<std::uint8_t>(header_text.size() >> (8 * i));
  digest_.Update(length);
  digest_.Update({reinterpret_cast<const std::uint8_t*>(header_text.data()), header_text.size()});
  std::iota(in_order_.begin(), in_order_.end(), std::size_t{0});
  std::sort(in_order_.begin(), in_order_.end(), [&](std::size_t a, std::size_t b) {
    const TensorInfo& first = writer_.tensors()[a];
    const TensorInfo& second = writer_.tensors()[b];
    return first.begin != second.begin ? first.begin < second.begin : first.end < second.end;
  });
}

void WrittenDigest::Wrote(std::size_t tensor, std::int64_t offset,
                          std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  std::int64_t begin = writer_.tensors()[tensor].begin + offset;
  std::int64_t end = begin + std::ssize(bytes);
  if (begin == digested_) {
    digest_.Update(bytes);
    digested_ = end;
    return;
  }
  const auto next = ahead_.lower_bound(begin);
  if (next != ahead_.end() && next->first == end) {
    end = next->second;
    ahead_.erase(next);
  }
  if (const auto after = ahead_.lower_bound(begin); after != ahead_.begin()) {
    if (const auto before = std::prev(after); before->second == begin) {
      before->second = end;
      return;
    }
  }
  ahead_[begin] = end;
}

absl::Status WrittenDigest::CatchUp() {
  while (!ahead_.empty() && ahead_.begin()->first == digested_) {
    const std::int64_t end = ahead_.begin()->second;
    ahead_.erase(ahead_.begin());
    while (digested_ < end) {
      // The tensor that holds the byte: the last that begins at or before it, if it is not empty.
      const auto after = std::upper_bound(
          in_order_.begin(), in_order_.end(), digested_,
          [&](std::int64_t at, std::size_t t) { return at < writer_.tensors()[t].begin; });
      const std::size_t tensor = *std::prev(after);
      const TensorInfo& info = writer_.tensors()[tensor];
      const std::int64_t count = std::min({kPieceBytes, end - digested_, info.end - digested_});
      buffer_.resize(static_cast<std::size_t>(count));
      absl::Status status = writer_.Read(tensor, digested_ - info.begin, buffer_);
      if (!status.ok()) return status;
      digest_.Update(buffer_);
      digested_ += count;
    }
  }
  return absl::OkStatus();
}

}  // namespace lanewise

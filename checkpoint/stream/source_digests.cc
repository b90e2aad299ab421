#include "checkpoint/stream/source_digests.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "checkpoint/files/digest.h"
#include "checkpoint/files/mapped_file.h"

namespace lanewise {
namespace {

// With the blocks at its ends that it has a part of.
constexpr std::int64_t kPieceBytes = SourceDigests::kHeldBytes - 2 * kPageBlockBytes;
// What the system is asked to bring from the disk beyond them.
constexpr std::int64_t kAheadPieces = 8;

}  // namespace

SourceDigests::SourceDigests(Files files, std::int64_t window)
    : files_(std::move(files)), window_(window) {
  std::int64_t at = 0;
  for (const std::span<const std::uint8_t> file : files_) {
    begins_.push_back(at);
    at += std::ssize(file);
  }
  begins_.push_back(at);
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {
    // The system has no thread: Wait digests by itself.
    allowed_ = at;
  }
}

SourceDigests::~SourceDigests() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SourceDigests::Allow(std::size_t file, double share) {
  if (!thread_.joinable()) return;
  const auto at =
      begins_[file] + static_cast<std::int64_t>(share * static_cast<double>(files_[file].size()));
  std::unique_lock lock(mutex_);
  if (at > allowed_) {
    allowed_ = at;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return stop_ || at <= read_ + window_; });
}

std::string SourceDigests::Wait(std::size_t file) {
  if (!thread_.joinable()) return DigestFile(file);
  Allow(file, 1);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return digests_.size() > file; });
  return digests_[file];
}

void SourceDigests::Run() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::string digest = DigestFile(i);
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      read_ = begins_[i + 1];
      digests_.push_back(std::move(digest));
    }
    changed_.notify_all();
  }
}

bool SourceDigests::MayRead(std::int64_t at) {
  std::unique_lock lock(mutex_);
  read_ = at;
  changed_.notify_all();
  changed_.wait(lock, [&] { return stop_ || at <= allowed_ + window_; });
  return !stop_;
}

std::string SourceDigests::DigestFile(std::size_t index) {
  const std::span<const std::uint8_t> file = files_[index];
  const std::int64_t size = std::ssize(file);
  Digest digest;
  for (std::int64_t at = 0; at < size && MayRead(begins_[index] + at); at += kPieceBytes) {
    if (at / kPieceBytes % kAheadPieces == 0) {
      PrefetchPages(file.subspan(at, std::min(size - at, 2 * kAheadPieces * kPieceBytes)));
    }
    const std::span<const std::uint8_t> piece = file.subspan(at, std::min(size - at, kPieceBytes));
    PopulatePages(piece);
    digest.Update(piece);
    ReleasePages(file, piece);
  }
  return digest.Hex();
}

}  // namespace lanewise

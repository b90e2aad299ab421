#include "checkpoint/files/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/files/system_error.h"

namespace lanewise {
namespace {

void Advise(std::span<const uint8_t> bytes, int advice) {
  if (bytes.empty()) return;
  static const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

void PopulatePages(std::span<const uint8_t> bytes) {
#ifdef MADV_POPULATE_READ
  Advise(bytes, MADV_POPULATE_READ);
#else
  static_cast<void>(bytes);
#endif
}

void PrefetchPages(std::span<const uint8_t> bytes) { Advise(bytes, MADV_WILLNEED); }

void ReleasePages(std::span<const uint8_t> mapping, std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const auto address = [](const uint8_t* at) { return reinterpret_cast<uintptr_t>(at); };
  const auto block = static_cast<uintptr_t>(kPageBlockBytes);
  const uintptr_t first = address(mapping.data()), last = first + mapping.size();
  const uintptr_t begin = std::max(first, address(bytes.data()) / block * block);
  const uintptr_t end =
      std::min(last, (address(bytes.data()) + bytes.size() + block - 1) / block * block);
  Advise({mapping.data() + (begin - first), end - begin}, MADV_DONTNEED);
}

void PassedPages::Add(std::span<const uint8_t> mapping, std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    // Pieces mostly follow each other.
    if (!runs_.empty() && runs_.back().mapping.data() == mapping.data() &&
        runs_.back().bytes.data() + runs_.back().bytes.size() == bytes.data()) {
      Run& run = runs_.back();
      run.bytes = {run.bytes.data(), run.bytes.size() + bytes.size()};
      held_ += static_cast<int64_t>(bytes.size());
    } else {
      runs_.push_back({mapping, bytes});
      held_ += static_cast<int64_t>(bytes.size()) + kPageBlockBytes;
    }
    full = held_ >= most_;
  }
  if (full) Release();
}

void PassedPages::Release() {
  std::vector<Run> runs;
  {
    const std::lock_guard lock(mutex_);
    runs.swap(runs_);
    held_ = 0;
  }
  if (runs.empty()) return;
  // Runs that touch or overlap go together.
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return a.bytes.data() < b.bytes.data(); });
  Run whole = runs[0];
  for (const Run& run : runs) {
    const uint8_t* const end = whole.bytes.data() + whole.bytes.size();
    if (run.mapping.data() != whole.mapping.data() || run.bytes.data() > end + kPageBlockBytes) {
      ReleasePages(whole.mapping, whole.bytes);
      whole = run;
    } else {
      const uint8_t* const last = std::max(end, run.bytes.data() + run.bytes.size());
      whole.bytes = {whole.bytes.data(), static_cast<size_t>(last - whole.bytes.data())};
    }
  }
  ReleasePages(whole.mapping, whole.bytes);
}

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  // Non-blocking, so that a pipe is refused rather than waited for.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(errno, absl::StrCat(path, ": cannot open"));
  MappedFile file;
  file.path_ = path;
  struct stat info;
  absl::Status status;
  if (fstat(fd, &info) != 0) {
    status = SystemError(errno, absl::StrCat(path, ": cannot stat"));
  } else if (!S_ISREG(info.st_mode)) {
    status = absl::InvalidArgumentError(absl::StrCat(path, S_ISDIR(info.st_mode)
                                                               ? ": is a directory, expected a file"
                                                               : ": is not an ordinary file"));
  } else {
    file.device_ = info.st_dev;
    file.inode_ = info.st_ino;
    file.changed_ = info.st_mtim;
    const size_t size = static_cast<size_t>(info.st_size);
    if (size > 0) {
      void* const data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
      if (data == MAP_FAILED) {
        status = SystemError(errno, absl::StrCat(path, ": cannot map ", size, " bytes"));
      } else {
        file.data_ = static_cast<const uint8_t*>(data);
        file.size_ = size;
      }
    }
  }
  close(fd);
  if (!status.ok()) return status;
  return file;
}

absl::Status MappedFile::CheckUnchanged() const {
  struct stat now;
  if (stat(path_.c_str(), &now) != 0) {
    return SystemError(errno, absl::StrCat(path_, ": cannot stat"));
  }
  if (now.st_dev != device_ || now.st_ino != inode_ || static_cast<size_t>(now.st_size) != size_ ||
      now.st_mtim.tv_sec != changed_.tv_sec || now.st_mtim.tv_nsec != changed_.tv_nsec) {
    return absl::AbortedError(absl::StrCat(path_, ": changed while it was read"));
  }
  return absl::OkStatus();
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this == &other) return *this;
  Unmap();
  path_ = std::move(other.path_);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  device_ = other.device_;
  inode_ = other.inode_;
  changed_ = other.changed_;
  return *this;
}

MappedFile::~MappedFile() { Unmap(); }

void MappedFile::Unmap() {
  // munmap takes a mutable pointer and writes nothing.
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
  data_ = nullptr;
}

}  // namespace lanewise

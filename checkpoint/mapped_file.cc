#include "checkpoint/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/system_error.h"

namespace lanewise {

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

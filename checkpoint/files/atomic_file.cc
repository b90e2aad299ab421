#include "checkpoint/files/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "checkpoint/files/system_error.h"

namespace lanewise {
namespace {

// "." for a bare name.
std::string DirectoryOf(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

// One call moves at most this much; Linux would stop at 2^31 - 4096 anyway.
constexpr size_t kMostPerCall = size_t{1} << 30;

// A name beside `path` that is surely free.
std::string TemporaryName(const std::string& path) {
  std::random_device random;
  const uint64_t draw = uint64_t{random()} << 32 | random();
  return absl::StrCat(DirectoryOf(path), "/", absl::StrFormat(".lanewise-%016x.tmp", draw));
}

// Whether a file lies in memory, and how much more finds room there. Reserving would make all of
// its pages at once, by one thread, before anything can be written.
bool IsInMemory(int fd, int64_t* room) {
  constexpr int64_t kTmpfsMagic = 0x01021994;  // linux/magic.h
  struct statfs info;
  if (fstatfs(fd, &info) != 0 || info.f_type != kTmpfsMagic) return false;
  // 0 blocks: there is no limit.
  *room = info.f_blocks == 0 ? std::numeric_limits<int64_t>::max()
                             : static_cast<int64_t>(info.f_bavail) * info.f_bsize;
  return true;
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path, int64_t size) {
  struct stat there;
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, S_ISDIR(there.st_mode) ? ": is a directory, expected the name of a file"
                                                  : ": is not an ordinary file"));
  }
  AtomicFile file;
  file.path_ = path;
  file.fd_ = open(DirectoryOf(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  for (int attempt = 0; file.fd_ < 0; ++attempt) {
    const std::string name = TemporaryName(path);
    file.fd_ = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.fd_ >= 0) {
      file.temporary_path_ = name;
    } else if (errno != EEXIST || attempt == 10) {
      return SystemError(errno,
                         absl::StrCat(path, ": cannot create a file in ", DirectoryOf(path)));
    }
  }
  if (int64_t room = 0; IsInMemory(file.fd_, &room)) {
    if (size > room) {
      return SystemError(ENOSPC, absl::StrCat(path, ": ", size, " bytes, of which ", room,
                                              " find room in memory"));
    }
  } else if (size > 0 && fallocate(file.fd_, 0, 0, size) != 0 && errno != EOPNOTSUPP &&
             errno != ENOSYS) {
    // Some file systems cannot reserve; there a full disk shows at the write.
    return SystemError(errno, absl::StrCat(path, ": cannot reserve ", size, " bytes on disk"));
  }
  if (ftruncate(file.fd_, size) != 0) {
    return SystemError(errno, absl::StrCat(path, ": cannot make a file of ", size, " bytes"));
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept { *this = std::move(other); }

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this == &other) return *this;
  Discard();
  path_ = std::move(other.path_);
  temporary_path_ = std::move(other.temporary_path_);
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (fd_ < 0) return;
  close(std::exchange(fd_, -1));
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

absl::Status AtomicFile::Write(int64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(fd_, bytes.data(), std::min(bytes.size(), kMostPerCall), offset);
    if (wrote < 0) {
      if (errno == EINTR) continue;
      return SystemError(errno, absl::StrCat(path_, ": cannot write at offset ", offset));
    }
    bytes = bytes.subspan(static_cast<size_t>(wrote));
    offset += wrote;
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Read(int64_t offset, std::span<uint8_t> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = pread(fd_, bytes.data(), std::min(bytes.size(), kMostPerCall), offset);
    if (got < 0) {
      if (errno == EINTR) continue;
      return SystemError(errno, absl::StrCat(path_, ": cannot read back at offset ", offset));
    }
    if (got == 0) {
      return absl::OutOfRangeError(
          absl::StrCat(path_, ": nothing to read back at offset ", offset));
    }
    bytes = bytes.subspan(static_cast<size_t>(got));
    offset += got;
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Name() {
  if (temporary_path_.empty()) {
    const std::string self = absl::StrCat("/proc/self/fd/", fd_);
    const auto link_to = [&](const std::string& name) {
      return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_to(path_)) return absl::OkStatus();
    // What is there already can only be replaced by a file with a name.
    const std::string name = TemporaryName(path_);
    if (errno != EEXIST || !link_to(name)) {
      return SystemError(errno, absl::StrCat(path_, ": cannot give the complete file this name"));
    }
    temporary_path_ = name;
  }
  if (rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return SystemError(errno,
                       absl::StrCat(path_, ": cannot rename the complete file to this name"));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  if (fd_ < 0) return absl::FailedPreconditionError(absl::StrCat(path_, ": is already complete"));
  if (fsync(fd_) != 0) return SystemError(errno, absl::StrCat(path_, ": cannot flush to disk"));
  if (absl::Status status = Name(); !status.ok()) return status;
  close(std::exchange(fd_, -1));
  const int directory = open(DirectoryOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    return SystemError(errno, absl::StrCat(DirectoryOf(path_), ": cannot open to flush"));
  }
  // A file system that cannot flush a directory answers EINVAL; the rename is then as safe as it
  // gets.
  const bool flushed = fsync(directory) == 0 || errno == EINVAL;
  const int error = errno;
  close(directory);
  if (!flushed) return SystemError(error, absl::StrCat(DirectoryOf(path_), ": cannot flush"));
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view contents) {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path, static_cast<int64_t>(contents.size()));
  if (!file.ok()) return file.status();
  absl::Status status =
      file->Write(0, {reinterpret_cast<const uint8_t*>(contents.data()), contents.size()});
  if (!status.ok()) return status;
  return file->Commit();
}

}  // namespace lanewise

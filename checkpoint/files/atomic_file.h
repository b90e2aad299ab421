#ifndef LANEWISE_CHECKPOINT_FILES_ATOMIC_FILE_H_
#define LANEWISE_CHECKPOINT_FILES_ATOMIC_FILE_H_

// A file that gets its name only when it is complete and on disk.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanewise {

// Movable. Writes and reads are safe from any number of threads where they do not touch the same
// bytes.
class AtomicFile {
 public:
  // A file of `size` zero bytes in `path`'s directory, with its room on disk reserved where the
  // file system can; in memory (tmpfs) it is only checked that there is room. It has no name until
  // Commit, so that nothing stays behind however the process ends; where the file system knows no
  // such files, it has a temporary one. Refuses a `path` that is there and not an ordinary file.
  static absl::StatusOr<AtomicFile> Create(const std::string& path, int64_t size);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();  // the file is gone unless Commit succeeded

  const std::string& path() const { return path_; }

  absl::Status Write(int64_t offset, std::span<const uint8_t> bytes);
  absl::Status Read(int64_t offset, std::span<uint8_t> bytes) const;

  // Flushes the file, gives it the name path(), replacing what was there, and flushes the
  // directory.
  absl::Status Commit();

 private:
  AtomicFile() = default;
  void Discard();
  absl::Status Name();

  std::string path_;
  std::string temporary_path_;  // empty: the file has no name
  int fd_ = -1;
};

// A whole small file at once.
absl::Status WriteFileAtomically(const std::string& path, std::string_view contents);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_FILES_ATOMIC_FILE_H_

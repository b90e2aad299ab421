#ifndef LANEWISE_CHECKPOINT_MAPPED_FILE_H_
#define LANEWISE_CHECKPOINT_MAPPED_FILE_H_

// A whole file as read-only memory.

#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanewise {

// Movable; the bytes keep their address. See SafetensorsFile about files that change while mapped.
class MappedFile {
 public:
  // Follows symbolic links. Refuses directories, devices and pipes. An empty file maps to no bytes.
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  // Fails if the file at path() is no longer the one that was mapped, or its size or time of change
  // differ.
  absl::Status CheckUnchanged() const;

 private:
  MappedFile() = default;
  void Unmap();

  std::string path_;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  timespec changed_{};
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_MAPPED_FILE_H_

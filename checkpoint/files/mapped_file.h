#ifndef LANEWISE_CHECKPOINT_FILES_MAPPED_FILE_H_
#define LANEWISE_CHECKPOINT_FILES_MAPPED_FILE_H_

// A whole file as read-only memory.

#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

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

// A mapped page counts as this process's memory once it was touched, until it is given back to the
// page cache, from which another touch brings it again. The system may map as much as this at a
// touch, aligned to it.
inline constexpr int64_t kPageBlockBytes = int64_t{2} << 20;

// Advice on bytes of a mapping: brings a run of pages at once; has the system read them from the
// disk meanwhile. What the system cannot do costs time and nothing else.
void PopulatePages(std::span<const uint8_t> bytes);
void PrefetchPages(std::span<const uint8_t> bytes);

// Gives back all blocks (kPageBlockBytes) of `mapping` that hold any of `bytes`. `mapping` is a
// whole file's, or another that is shared or read only.
void ReleasePages(std::span<const uint8_t> mapping, std::span<const uint8_t> bytes);

// Pages that were passed, of any files: kept until there are `most` bytes of them and then given
// back together, because each time stops every thread for a moment. From any thread.
class PassedPages {
 public:
  explicit PassedPages(int64_t most) : most_(most) {}
  PassedPages(const PassedPages&) = delete;
  PassedPages& operator=(const PassedPages&) = delete;
  ~PassedPages() { Release(); }

  // Parameters as ReleasePages.
  void Add(std::span<const uint8_t> mapping, std::span<const uint8_t> bytes);
  void Release();

 private:
  struct Run {
    std::span<const uint8_t> mapping, bytes;
  };

  const int64_t most_;
  std::mutex mutex_;
  std::vector<Run> runs_;
  int64_t held_ = 0;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_FILES_MAPPED_FILE_H_

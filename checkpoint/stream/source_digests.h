#ifndef LANEWISE_CHECKPOINT_STREAM_SOURCE_DIGESTS_H_
#define LANEWISE_CHECKPOINT_STREAM_SOURCE_DIGESTS_H_

// Digests whole files in the background, while others work on them: one thread reads each file
// once, in order, a little ahead of the work. The work then finds its bytes in the page cache, so
// the disk is read once and from front to back, in whatever order the work needs them.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace lanewise {

class SourceDigests {
 public:
  static constexpr std::int64_t kHeldBytes = std::int64_t{8} << 20;

  // The mapped bytes of each file.
  using Files = std::vector<std::span<const std::uint8_t>>;

  // Digests `files` in this order, never more than `window` bytes ahead of what Allow said. Of
  // their pages it holds kHeldBytes at a time.
  SourceDigests(Files files, std::int64_t window);
  SourceDigests(const SourceDigests&) = delete;
  SourceDigests& operator=(const SourceDigests&) = delete;
  ~SourceDigests();  // stops where it is

  // The work has come to this share, 0 to 1, of file number `file`. Waits while the digester is
  // more than `window` bytes behind: then the same bytes are in the caches for both.
  void Allow(std::size_t file, double share);

  // Waits for the digest of file number `file`, and allows what it takes.
  std::string Wait(std::size_t file);

 private:
  void Run();
  std::string DigestFile(std::size_t index);
  // Says that all bytes before `at` are read, and waits until that one may be; false if everything
  // is to stop.
  bool MayRead(std::int64_t at);

  const Files files_;
  std::vector<std::int64_t> begins_;  // of each file among the bytes of all, and their end
  const std::int64_t window_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t allowed_ = 0;
  std::int64_t read_ = 0;
  bool stop_ = false;
  std::vector<std::string> digests_;  // as far as they are there

  std::thread thread_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_STREAM_SOURCE_DIGESTS_H_

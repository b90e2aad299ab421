#ifndef LANEWISE_CHECKPOINT_STREAM_BUFFER_POOL_H_
#define LANEWISE_CHECKPOINT_STREAM_BUFFER_POOL_H_

// Buffers for pieces in flight, used again: fresh memory costs a page fault every 4 KiB.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

namespace lanewise {

// From any thread.
class BufferPool {
 public:
  // Buffers of up to `standard` bytes are kept for the next user; larger ones are made and freed.
  explicit BufferPool(std::int64_t standard) : standard_(standard) {}

  // At least `bytes` bytes of any contents, aligned to 64. They come back by themselves.
  std::shared_ptr<std::uint8_t> Get(std::int64_t bytes);

 private:
  struct Free {
    void operator()(std::uint8_t* memory) const { std::free(memory); }
  };

  const std::int64_t standard_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::uint8_t, Free>> idle_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_STREAM_BUFFER_POOL_H_

#include "checkpoint/stream/buffer_pool.h"

#include <new>
#include <utility>

namespace lanewise {
namespace {

std::uint8_t* Allocate(std::int64_t bytes) {
  const std::size_t rounded = (static_cast<std::size_t>(bytes) + 63) / 64 * 64;
  void* const memory = std::aligned_alloc(64, rounded == 0 ? 64 : rounded);
  if (memory == nullptr) throw std::bad_alloc();  // as every other allocation of this size does
  return static_cast<std::uint8_t*>(memory);
}

}  // namespace

std::shared_ptr<std::uint8_t> BufferPool::Get(std::int64_t bytes) {
  if (bytes > standard_) return {Allocate(bytes), Free()};
  std::unique_ptr<std::uint8_t, Free> buffer;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      buffer = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (buffer == nullptr) buffer.reset(Allocate(standard_));
  return {buffer.release(), [this](std::uint8_t* memory) {
            std::unique_ptr<std::uint8_t, Free> idle(memory);
            const std::lock_guard lock(mutex_);
            idle_.push_back(std::move(idle));
          }};
}

}  // namespace lanewise

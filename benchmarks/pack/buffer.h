#ifndef LANEWISE_BENCHMARKS_PACK_BUFFER_H_
#define LANEWISE_BENCHMARKS_PACK_BUFFER_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace lanewise::benchmarks {

// What pages the system is asked for. With 4 KiB pages a copy of many rows at once meets the limits
// of the TLB; large buffers of an engine are often on 2 MiB pages.
enum class Pages { kSmall, kHuge };

// Memory of its own mapping, page-aligned and touched.
class Buffer {
 public:
  // ResourceExhausted where the system has no room for it.
  static absl::StatusOr<Buffer> Map(std::int64_t bytes, Pages pages);

  Buffer(Buffer&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();

  std::span<std::uint8_t> span() const { return bytes_; }

 private:
  explicit Buffer(std::span<std::uint8_t> bytes) : bytes_(bytes) {}
  std::span<std::uint8_t> bytes_;
};

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_PACK_BUFFER_H_

#ifndef LANEWISE_HIP_RUNTIME_BUFFER_H_
#define LANEWISE_HIP_RUNTIME_BUFFER_H_

// Device memory with an owner.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip {

class Buffer {
 public:
  // Memory of the current device, not initialised. The name appears in errors, and in the
  // emulator's reports about accesses next to it.
  static absl::StatusOr<Buffer> Allocate(int64_t bytes, std::string_view name);
  // The same, filled with a copy of `values`.
  template <typename T>
  static absl::StatusOr<Buffer> Of(std::span<const T> values, std::string_view name) {
    absl::StatusOr<Buffer> buffer = Allocate(static_cast<int64_t>(values.size_bytes()), name);
    if (!buffer.ok()) return buffer;
    if (absl::Status status = buffer->CopyFrom(values); !status.ok()) return status;
    return buffer;
  }

  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        name_(std::move(other.name_)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(name_, other.name_);
    return *this;
  }
  ~Buffer();

  // Whole copies that wait; the sizes must match.
  template <typename T>
  absl::Status CopyFrom(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    return CopyBytesFrom(values.data(), static_cast<int64_t>(values.size_bytes()));
  }
  template <typename T>
  absl::Status CopyTo(std::span<T> values) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return CopyBytesTo(values.data(), static_cast<int64_t>(values.size_bytes()));
  }
  // The whole content as values of T.
  template <typename T>
  absl::StatusOr<std::vector<T>> Read() const {
    std::vector<T> values(static_cast<size_t>(size_) / sizeof(T));
    if (absl::Status status = CopyTo(std::span<T>(values)); !status.ok()) return status;
    return values;
  }

  // Sets every byte, behind the stream's earlier work.
  absl::Status Fill(uint8_t value, const Stream& stream);
  // Copies bytes [offset, offset + bytes) behind the stream's earlier work; the host memory has to
  // stay until it is done.
  absl::Status CopyFromAsync(const void* from, int64_t offset, int64_t bytes, const Stream& stream);
  absl::Status CopyToAsync(void* to, int64_t offset, int64_t bytes, const Stream& stream) const;
  // Copies another buffer of the device, of the same size, behind the stream's earlier work.
  absl::Status CopyFromAsync(const Buffer& from, const Stream& stream);

  void* data() const { return data_; }
  int64_t size() const { return size_; }  // bytes
  const std::string& name() const { return name_; }

 private:
  Buffer(void* data, int64_t size, std::string name)
      : data_(data), size_(size), name_(std::move(name)) {}
  absl::Status CopyBytesFrom(const void* from, int64_t bytes);
  absl::Status CopyBytesTo(void* to, int64_t bytes) const;
  absl::Status CheckRange(std::string_view what, int64_t offset, int64_t bytes) const;

  void* data_ = nullptr;
  int64_t size_ = 0;
  std::string name_;
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_RUNTIME_BUFFER_H_

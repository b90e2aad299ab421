#include "hip/runtime/buffer.h"

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "hip/runtime/error.h"
#include "third_party/hip_api.h"

namespace lanewise::hip {
namespace {

uint8_t* At(void* data, int64_t offset) { return static_cast<uint8_t*>(data) + offset; }

}  // namespace

absl::StatusOr<Buffer> Buffer::Allocate(int64_t bytes, std::string_view name) {
  if (bytes < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("buffer ", AbslView(name), ": ", bytes, " bytes"));
  }
  void* data = nullptr;
  // HIP gives no memory for 0 bytes; an empty buffer has no address.
  if (bytes > 0) {
    if (absl::Status status =
            ToStatus(hipMalloc(&data, static_cast<size_t>(bytes)),
                     absl::StrCat("allocating ", bytes, " bytes for ", AbslView(name)));
        !status.ok()) {
      return status;
    }
    BackendNameMemory(data, name);
  }
  return Buffer(data, bytes, std::string(name));
}

Buffer::~Buffer() {
  if (data_ != nullptr) (void)hipFree(data_);
}

absl::Status Buffer::CheckRange(std::string_view what, int64_t offset, int64_t bytes) const {
  if (offset >= 0 && bytes >= 0 && offset <= size_ && bytes <= size_ - offset)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(AbslView(what), " buffer ", name_, ": bytes ",
                                                 offset, " to ", offset + bytes, " of ", size_));
}

absl::Status Buffer::CopyBytesFrom(const void* from, int64_t bytes) {
  if (bytes != size_) {
    return absl::InvalidArgumentError(
        absl::StrCat("copying into buffer ", name_, ": ", bytes, " bytes into ", size_));
  }
  if (bytes == 0) return absl::OkStatus();
  return ToStatus(hipMemcpy(data_, from, static_cast<size_t>(bytes), hipMemcpyHostToDevice),
                  absl::StrCat("copying into buffer ", name_));
}

absl::Status Buffer::CopyBytesTo(void* to, int64_t bytes) const {
  if (bytes != size_) {
    return absl::InvalidArgumentError(
        absl::StrCat("copying out of buffer ", name_, ": ", bytes, " bytes out of ", size_));
  }
  if (bytes == 0) return absl::OkStatus();
  return ToStatus(hipMemcpy(to, data_, static_cast<size_t>(bytes), hipMemcpyDeviceToHost),
                  absl::StrCat("copying out of buffer ", name_));
}

absl::Status Buffer::Fill(uint8_t value, const Stream& stream) {
  if (size_ == 0) return absl::OkStatus();
  return ToStatus(hipMemsetAsync(data_, value, static_cast<size_t>(size_), stream.handle()),
                  absl::StrCat("filling buffer ", name_));
}

absl::Status Buffer::CopyFromAsync(const void* from, int64_t offset, int64_t bytes,
                                   const Stream& stream) {
  if (absl::Status status = CheckRange("copying into", offset, bytes); !status.ok()) return status;
  if (bytes == 0) return absl::OkStatus();
  return ToStatus(hipMemcpyAsync(At(data_, offset), from, static_cast<size_t>(bytes),
                                 hipMemcpyHostToDevice, stream.handle()),
                  absl::StrCat("copying into buffer ", name_));
}

absl::Status Buffer::CopyFromAsync(const Buffer& from, const Stream& stream) {
  if (from.size_ != size_) {
    return absl::InvalidArgumentError(absl::StrCat("copying buffer ", from.name_, " into ", name_,
                                                   ": ", from.size_, " bytes into ", size_));
  }
  if (size_ == 0) return absl::OkStatus();
  return ToStatus(hipMemcpyAsync(data_, from.data_, static_cast<size_t>(size_),
                                 hipMemcpyDeviceToDevice, stream.handle()),
                  absl::StrCat("copying buffer ", from.name_, " into ", name_));
}

absl::Status Buffer::CopyToAsync(void* to, int64_t offset, int64_t bytes,
                                 const Stream& stream) const {
  if (absl::Status status = CheckRange("copying out of", offset, bytes); !status.ok())
    return status;
  if (bytes == 0) return absl::OkStatus();
  return ToStatus(hipMemcpyAsync(to, At(data_, offset), static_cast<size_t>(bytes),
                                 hipMemcpyDeviceToHost, stream.handle()),
                  absl::StrCat("copying out of buffer ", name_));
}

}  // namespace lanewise::hip

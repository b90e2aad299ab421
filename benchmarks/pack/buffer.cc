#include "benchmarks/pack/buffer.h"

#include <sys/mman.h>

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lanewise::benchmarks {

absl::StatusOr<Buffer> Buffer::Map(std::int64_t bytes, Pages pages) {
  constexpr std::int64_t kHugePage = std::int64_t{2} << 20;
  const std::int64_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* const mapped =
      mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("no room for a buffer of ", whole, " bytes"));
  }
  // Advice: a system that knows no huge pages gives small ones.
  madvise(mapped, whole, pages == Pages::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(mapped, 1, whole);
  return Buffer({static_cast<std::uint8_t*>(mapped), static_cast<std::size_t>(whole)});
}

Buffer::~Buffer() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace lanewise::benchmarks

#ifndef LANEWISE_WEIGHTS_READ_AHEAD_H_
#define LANEWISE_WEIGHTS_READ_AHEAD_H_

#include <algorithm>
#include <cstdint>
#include <limits>

namespace lanewise {

// Asks for the lines of a stretch of memory before they are read, a line for each that is moved: of
// the next four pages in turn, since the processor's own prefetchers, one for each page, then have
// four at work. Where the stretch ends, the next one follows. Asking for what lies past both does
// nothing.
class ReadAhead {
 public:
  struct Stretch {
    const std::uint8_t* begin = nullptr;
    std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
    const std::uint8_t* next = nullptr;  // where reading goes on after it
  };

  // For what is read from `from` on, in the stretch.
  ReadAhead(const Stretch& stretch, const std::uint8_t* from)
      : begin_(reinterpret_cast<std::uintptr_t>(stretch.begin)),
        following_(reinterpret_cast<std::uintptr_t>(stretch.next)),
        bytes_(stretch.bytes),
        page_(std::clamp(stretch.bytes / kPages / kLine * kLine, kLine, kPage)) {
    const std::int64_t at = from - stretch.begin, group = kPages * page_;
    in_group_ = at % group;
    ahead_ = at - in_group_ + group;
    Move(0);
  }

  // After `bytes` were moved, less than a group of pages.
  void Move(std::int64_t bytes) {
    in_group_ += bytes;
    if (in_group_ >= kPages * page_) {
      in_group_ -= kPages * page_;
      ahead_ += kPages * page_;
    }
    next_ = (ahead_ < bytes_ ? begin_ + static_cast<std::uintptr_t>(ahead_) : following_) +
            static_cast<std::uintptr_t>(in_group_ / kPages / kLine * kLine);
  }

  // Beside the i-th of the next kRegisters, of kBytes each; both are powers of two. Inline, since
  // GCC takes a function that does nothing else for one without effects, and drops its calls.
  template <int kRegisters, int kBytes>
  [[gnu::always_inline]] void Ask(int i) const {
    constexpr int kOfLine = kBytes < kLine ? kLine / kBytes : 1;
    constexpr int kLines = kRegisters < kOfLine ? 1 : kRegisters / kOfLine;
    constexpr int kOfPage = kLines < kPages ? 1 : kLines / kPages;
    if (i % kOfLine != 0) return;
    // Fewer than there are pages: which of them is next.
    const std::int64_t first = kLines < kPages ? in_group_ / kLine % kPages * page_ : 0;
    const int line = i / kOfLine;
    __builtin_prefetch(reinterpret_cast<const void*>(next_ + first + line / kOfPage * page_ +
                                                     line % kOfPage * kLine));
  }

 private:
  static constexpr std::int64_t kLine = 64, kPage = 4096, kPages = 4;

  std::uintptr_t begin_, following_;
  std::int64_t bytes_, page_;
  std::int64_t in_group_ = 0;  // of the group that is being read
  std::int64_t ahead_ = 0;     // the next group, from begin_
  std::uintptr_t next_;
};

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_READ_AHEAD_H_

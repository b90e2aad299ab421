#ifndef LANEWISE_CHECKPOINT_STREAM_ORDERED_WORK_H_
#define LANEWISE_CHECKPOINT_STREAM_ORDERED_WORK_H_

// A pipeline without stages: each thread takes the next piece of work, makes it, and hands over
// what is left to do one at a time. Pieces are dealt in order, worked on at the same time, and,
// within their lane (an output file), written one at a time as they come, and committed in order.
// Whichever thread is free does it: one that brings a piece writes all that wait in its lane and
// commits all that are ready, unless another thread is at it already. So reading, computing,
// writing and digesting overlap, a piece is written while it is in the cache, nobody waits for a
// turn (as threads that write to one file would inside the system), and few threads are enough.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/stream/memory_budget.h"

namespace lanewise {

// Done one at a time in its lane, in the order in which pieces were dealt.
using Commit = std::function<absl::Status()>;

// What is left of a piece that is made.
struct Rest {
  Rest(Commit then) : commit(std::move(then)) {}
  Rest(std::function<absl::Status()> first, Commit then)
      : write(std::move(first)), commit(std::move(then)) {}

  // Done one at a time in its lane, in any order, before the commit; may be null.
  std::function<absl::Status()> write;
  Commit commit;
};

struct Piece {
  std::size_t lane = 0;
  std::int64_t memory = 0;  // held from before the work until after the commit
  std::function<absl::StatusOr<Rest>()> work;
};

// Gives the next piece, or none when there is none any more. Called by one thread at a time.
using NextPiece = std::function<absl::StatusOr<std::optional<Piece>>()>;

// Runs every piece on `threads` threads, those in flight holding at most `memory` at once and
// being at most `most_in_flight`. The error is that of the earliest piece that failed; after one,
// no further piece is dealt, written or committed. Becoming true, `cancel` (if not null) is such an
// error too, Cancelled.
absl::Status RunOrdered(int threads, int most_in_flight, MemoryBudget& memory,
                        const std::atomic<bool>* cancel, const NextPiece& next);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_STREAM_ORDERED_WORK_H_

#ifndef LANEWISE_CHECKPOINT_ORDERED_WORK_H_
#define LANEWISE_CHECKPOINT_ORDERED_WORK_H_

// A pipeline without stages: each thread takes the next piece of work, makes it, and hands over
// what is left to do in order. Pieces are dealt in order, worked on at the same time, and committed
// in order within their lane (an output file), by whichever thread is free: a thread that brings a
// piece commits all that are ready in its lane, unless another thread is at it already. So reading,
// computing and writing overlap, a piece is written while it is in the cache, nobody waits for a
// turn, and few threads are enough.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/memory_budget.h"

namespace lanewise {

// What is left of a piece: done one at a time in its lane, in the order in which it was dealt.
using Commit = std::function<absl::Status()>;

struct Piece {
  std::size_t lane = 0;
  std::int64_t memory = 0;  // held from before the work until after the commit
  std::function<absl::StatusOr<Commit>()> work;
};

// Gives the next piece, or none when there is none any more. Called by one thread at a time.
using NextPiece = std::function<absl::StatusOr<std::optional<Piece>>()>;

// Runs every piece on `threads` threads, those in flight holding at most `memory` at once and
// being at most `most_in_flight`. The error is that of the earliest piece that failed; after one,
// no further piece is dealt or committed. Becoming true, `cancel` (if not null) is such an error
// too, Cancelled.
absl::Status RunOrdered(int threads, int most_in_flight, MemoryBudget& memory,
                        const std::atomic<bool>* cancel, const NextPiece& next);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_ORDERED_WORK_H_

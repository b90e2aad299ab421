#ifndef LANEWISE_CHECKPOINT_PREPARE_TOUCHED_BYTES_H_
#define LANEWISE_CHECKPOINT_PREPARE_TOUCHED_BYTES_H_

// Which bytes of its sources a part of a plan reads or writes: what a piece of work brings into
// memory, and gives back after.

#include <cstdint>
#include <span>
#include <vector>

#include "weights/tensor_plan.h"

namespace lanewise {

// Bytes [begin, end) of source number `source`.
struct TouchedBytes {
  int source = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
};

// One run for each source that rows [begin, end) touch, from the first such byte to the last, their
// scale codes included. Places must lie within their sources.
std::vector<TouchedBytes> TouchedByRows(const TensorPlan& plan, std::int64_t begin,
                                        std::int64_t end);

// The same of leads [first, first + count); of all rows where leads are not contiguous.
std::vector<TouchedBytes> TouchedByLeads(const TensorPlan& plan, std::int64_t first,
                                         std::int64_t count);

// The memory that touching them may take: the blocks (kPageBlockBytes) of all mappings that hold
// any of them.
std::int64_t PageBytes(const Sources& sources, std::span<const TouchedBytes> touched);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARE_TOUCHED_BYTES_H_

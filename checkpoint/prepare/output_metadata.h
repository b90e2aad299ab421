#ifndef LANEWISE_CHECKPOINT_PREPARE_OUTPUT_METADATA_H_
#define LANEWISE_CHECKPOINT_PREPARE_OUTPUT_METADATA_H_

// What an output file says of itself, and whether one that is there already says the same.

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/prepare/output_files.h"
#include "checkpoint/prepared_writer.h"

namespace lanewise {

// The digest of its source left open.
PreparedWriter::About AboutFile(const JobPlan& plan, const OutputFile& file);

// Its tensors, the outputs and then the extras.
std::vector<PreparedTensorPlan> TensorsOf(const OutputFile& file);

// A file of an earlier run, or of another process of the same job.
struct ExistingFile {
  // Why it is not the file that this job would write; "" where it is.
  std::string problem;
  std::int64_t bytes = 0;           // of its tensors
  std::int64_t negative_zeros = 0;  // as it says
};

// Looks at the file at file.path, which must be there. It is the one that this job would write if
//  - it is whole: its header's digest is right and its size is what the header says (a file gets
//    its name only when all of it is on disk);
//  - it was made from the same source: the header of the source file of the same name is byte for
//    byte the one that was read, all source files have the names and sizes they had, and none whose
//    tensors it holds was changed after it was written;
//  - target, recipe, options and format are the same, and every tensor has the name, the stored
//    dtype and shape, and the description that it would have now.
// Neither the tensors' bytes nor the source's are read: verify does that.
ExistingFile LookAtExisting(const JobPlan& plan, const OutputFile& file);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARE_OUTPUT_METADATA_H_

#include "checkpoint/run_files.h"

#include <cstddef>

#include "absl/status/statusor.h"

namespace lanewise {

absl::Status RunFiles(std::span<const std::unique_ptr<PiecedFile>> files, MemoryBudget& memory,
                      const RunFilesOptions& options) {
  std::size_t at = 0;
  bool open = false;
  const NextPiece next = [&]() -> absl::StatusOr<std::optional<Piece>> {
    for (; at < files.size(); ++at, open = false) {
      if (!open) {
        if (absl::Status status = files[at]->Open(); !status.ok()) return status;
        open = true;
      }
      if (std::optional<Piece> piece = files[at]->Next()) return piece;
    }
    return std::nullopt;
  };
  absl::Status status =
      RunOrdered(options.threads, options.most_in_flight, memory, options.cancel, next);
  if (options.name_when_complete) return status;
  for (std::size_t i = 0; status.ok() && i < files.size(); ++i) status = files[i]->Finish();
  return status;
}

}  // namespace lanewise

#include "checkpoint/stream/run_files.h"

#include <cstddef>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace lanewise {

absl::Status PiecedFile::Open() {
  name_when_complete_ = rules_.NamesWhenComplete(path_);
  return Begin();
}

std::optional<Piece> PiecedFile::Next() {
  if (dealt_last_) return std::nullopt;
  std::optional<Piece> piece = NextOfContents();
  if (!piece) {
    dealt_last_ = true;
    piece.emplace();
    piece->work = [this] {
      return Commit([this] {
        absl::Status status = Complete();
        return status.ok() && name_when_complete_ ? Finish() : status;
      });
    };
  }
  piece->lane = lane_;
  return piece;
}

absl::Status PiecedFile::Finish() {
  if (!rules_.overwrite && IsNameTaken(path_)) {
    return absl::AlreadyExistsError(absl::StrCat(path_, " has appeared meanwhile"));
  }
  if (absl::Status status = Name(); !status.ok()) return status;
  named_ = true;
  return absl::OkStatus();
}

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
  for (std::size_t i = 0; status.ok() && i < files.size(); ++i) {
    if (!files[i]->named()) status = files[i]->Finish();
  }
  return status;
}

}  // namespace lanewise

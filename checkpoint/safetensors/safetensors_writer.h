#ifndef LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_WRITER_H_
#define LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_WRITER_H_

// Writes a safetensors file whose tensors are known beforehand and whose bytes come later, in any
// order and from any thread:
//
//   absl::StatusOr<SafetensorsWriter> writer =
//       SafetensorsWriter::Create("out.safetensors", {{"w", DType::kU8, {64, 128}}}, {});
//   ...
//   status = writer->Write(0, 0, bytes);     // tensor 0, from its byte 0
//   status = writer->Finish();               // now, and only now, out.safetensors exists
//
// The file takes shape without a name in the same directory, and gets its own, whole and on disk,
// in Finish: a reader sees the old file or the new one, whatever happens in between. Without Finish
// it is gone, also where the process is killed. Where the file system knows no files without a name
// it is called ".lanewise-" and 16 hexadecimal digits and ".tmp"; a killed process leaves that, and
// it may be deleted. Equal calls give equal bytes.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/safetensors/safetensors_header.h"

namespace lanewise {

class SafetensorsWriter {
 public:
  // The order of the tensors' bytes in the file. Widest element first aligns every tensor to its
  // element's size without padding, which the format does not have; equal widths stay as declared.
  // Data begin at a multiple of 8 in either case.
  enum class Order : uint8_t { kWidestFirst, kAsDeclared };

  // Tensors whose size only their bytes tell, by their numbers, ascending: U8 of one dimension,
  // which says the most they may get. Their bytes come last in the file, in this order, by Append.
  using Growing = std::span<const size_t>;

  // Makes the temporary file, with room for all of it reserved on disk, so that a full disk is
  // refused here. Refuses duplicate names, names that are not UTF-8 or are __metadata__, shapes
  // that overflow or end within a byte, a header past the format's limit, and a path that is a
  // directory or device. A file that is already at `path` is left alone until Finish replaces it.
  static absl::StatusOr<SafetensorsWriter> Create(const std::string& path,
                                                  std::vector<TensorSpec> tensors,
                                                  std::map<std::string, std::string> metadata,
                                                  Order order = Order::kWidestFirst,
                                                  Growing growing = {});

  // The header that Create writes for these arguments, with the spaces that pad it and without its
  // length. Refuses the same.
  static absl::StatusOr<std::string> HeaderOf(const std::string& path,
                                              std::vector<TensorSpec> tensors,
                                              const std::map<std::string, std::string>& metadata,
                                              Order order = Order::kWidestFirst);

  // As Create, with the header given as text, which is written as it is, spaces that pad it
  // included (so their number decides the alignment of the data). The text is checked as a file's
  // header is; tensors() then has its tensors in the order of their bytes.
  static absl::StatusOr<SafetensorsWriter> CreateWithHeader(const std::string& path,
                                                            std::string header_text);

  SafetensorsWriter(SafetensorsWriter&&) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) noexcept;
  ~SafetensorsWriter();

  // The tensors as declared, in the order declared, with their place in the file.
  const std::vector<TensorInfo>& tensors() const;

  // Writes bytes of tensor number `tensor` of tensors(), the first at its byte `offset`. Any number
  // of threads may write at once. Refuses bytes outside the tensor and bytes already written. After
  // a failure of the disk every later call fails as well.
  absl::Status Write(size_t tensor, int64_t offset, std::span<const uint8_t> bytes);

  // Adds bytes to a growing tensor. By one thread at a time; after a later one's first bytes, an
  // earlier one gets none any more.
  absl::Status Append(size_t tensor, std::span<const uint8_t> bytes);

  // Reads back bytes that were written.
  absl::Status Read(size_t tensor, int64_t offset, std::span<uint8_t> bytes) const;

  // Replaces the value of a key that Create was given. The new value must take as many bytes in the
  // header as the old: room for what is known only at the end, such as a digest, is a placeholder
  // of the same length. Not for CreateWithHeader.
  absl::Status SetMetadata(std::string_view key, std::string_view value);

  // The header's JSON text as it stands now, without padding.
  std::string HeaderJson() const;

  // Refuses if any byte of any tensor was not written, naming the tensor and the first such byte.
  absl::Status CheckComplete() const;

  // CheckComplete; then writes the header, flushes the file to disk, renames it and flushes the
  // directory.
  absl::Status Finish();

 private:
  struct State;
  explicit SafetensorsWriter(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_WRITER_H_

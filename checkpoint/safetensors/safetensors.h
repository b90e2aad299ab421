#ifndef LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_H_
#define LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_H_

// A safetensors file, memory-mapped:
//
//   absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open("model.safetensors");
//   if (!file.ok()) return file.status();
//   for (const TensorInfo& tensor : file->tensors()) Use(tensor, file->Bytes(tensor));

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/safetensors/safetensors_header.h"

namespace lanewise {

// Spans and pointers that it gives stay valid until it is destroyed, also when it is moved.
// Reading is safe from any number of threads.
//
// The bytes are the file's own pages: nothing is read before it is touched. So a file that another
// process shortens, or a disk that fails, ends the reading process with SIGBUS at the touch; a file
// that another process rewrites in place changes under the reader. No header check can prevent
// that; CheckUnchanged() at the end of the work tells whether the second happened.
class SafetensorsFile {
 public:
  // Maps the file and checks its header (ParseSafetensorsHeader says what). Refuses what is not an
  // ordinary file. Messages begin with the path.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  // In the order of their bytes in the file.
  const std::vector<TensorInfo>& tensors() const { return header_.tensors; }

  // The tensor of that name, or null.
  const TensorInfo* Find(std::string_view name) const;

  // The tensor's bytes. `info` is one of tensors(). The address is aligned as the file offset is,
  // which may be not at all: copy elements wider than a byte out before using them.
  std::span<const uint8_t> Bytes(const TensorInfo& info) const {
    return map_.bytes().subspan(static_cast<size_t>(header_.data_begin + info.begin),
                                static_cast<size_t>(info.byte_count()));
  }

  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  const std::string& path() const { return map_.path(); }
  int64_t file_size() const { return static_cast<int64_t>(map_.bytes().size()); }
  // The header's JSON text, without the spaces that pad it.
  std::string_view header_json() const { return header_.json; }
  // Where the data section begins in the file.
  int64_t data_begin() const { return header_.data_begin; }
  std::span<const uint8_t> file_bytes() const { return map_.bytes(); }

  // Fails if the file's size or time of change is no longer what it was when the file was opened.
  absl::Status CheckUnchanged() const { return map_.CheckUnchanged(); }

 private:
  SafetensorsFile(MappedFile map, SafetensorsHeader header);

  MappedFile map_;
  SafetensorsHeader header_;                                         // its json views map_
  std::unordered_map<std::string_view, const TensorInfo*> by_name_;  // into header_.tensors
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SAFETENSORS_SAFETENSORS_H_

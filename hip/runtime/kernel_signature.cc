#include "hip/runtime/kernel_signature.h"

#include <elf.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "emulator/load/msgpack.h"
#include "hip/runtime/ptx_signature.h"

namespace lanewise::hip {
namespace {

using emulator::MsgpackValue;
using emulator::ParseMsgpack;

constexpr uint32_t kAmdgpuMetadata = 32;  // NT_AMDGPU_METADATA
constexpr std::string_view kOwner = "AMDGPU";

absl::Status Damaged(const char* what) { return absl::InvalidArgumentError(what); }

template <typename T>
bool ReadAt(std::span<const uint8_t> bytes, uint64_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return true;
}

// The metadata in one PT_NOTE segment; empty where it holds none.
std::span<const uint8_t> FindNote(std::span<const uint8_t> notes) {
  const auto padded = [](uint64_t size) { return (size + 3) / 4 * 4; };
  for (uint64_t at = 0;;) {
    Elf64_Nhdr header;
    if (!ReadAt(notes, at, header)) return {};
    const uint64_t name = at + sizeof(header);
    const uint64_t content = name + padded(header.n_namesz);
    if (content > notes.size() || header.n_descsz > notes.size() - content) return {};
    const std::string_view owner(reinterpret_cast<const char*>(notes.data()) + name,
                                 header.n_namesz == 0 ? 0 : header.n_namesz - 1);
    if (header.n_type == kAmdgpuMetadata && owner == kOwner) {
      return notes.subspan(content, header.n_descsz);
    }
    at = content + padded(header.n_descsz);
  }
}

absl::StatusOr<std::span<const uint8_t>> FindMetadata(std::span<const uint8_t> bytes) {
  Elf64_Ehdr header;
  if (!ReadAt(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return Damaged("the code object is no ELF64 file");
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!ReadAt(bytes, header.e_phoff + uint64_t{header.e_phentsize} * i, segment)) {
      return Damaged("the code object's program headers lie outside of it");
    }
    if (segment.p_type != PT_NOTE) continue;
    if (segment.p_offset > bytes.size() || segment.p_filesz > bytes.size() - segment.p_offset) {
      return Damaged("the code object's notes lie outside of it");
    }
    const auto found = FindNote(bytes.subspan(segment.p_offset, segment.p_filesz));
    if (!found.empty()) return found;
  }
  return Damaged("the code object has no AMDGPU metadata");
}

}  // namespace

absl::StatusOr<std::map<std::string, std::vector<int64_t>>> ReadKernelSignatures(
    std::span<const uint8_t> code_object) {
  const std::string_view text(reinterpret_cast<const char*>(code_object.data()),
                              code_object.size());
  if (IsPtx(text)) return ReadPtxSignatures(text);
  absl::StatusOr<std::span<const uint8_t>> note = FindMetadata(code_object);
  if (!note.ok()) return note.status();
  absl::StatusOr<MsgpackValue> root = ParseMsgpack(*note);
  if (!root.ok()) return root.status();
  std::map<std::string, std::vector<int64_t>> signatures;
  const MsgpackValue* kernels = root->Find("amdhsa.kernels");
  if (kernels == nullptr) return signatures;
  for (const MsgpackValue& kernel : kernels->array) {
    const MsgpackValue* name = kernel.Find(".name");
    if (name == nullptr) return Damaged("the code object's metadata has a kernel without a name");
    std::vector<int64_t>& sizes = signatures[name->string];
    const MsgpackValue* arguments = kernel.Find(".args");
    if (arguments == nullptr) continue;
    for (const MsgpackValue& argument : arguments->array) {
      const MsgpackValue* kind = argument.Find(".value_kind");
      const MsgpackValue* size = argument.Find(".size");
      if (kind == nullptr || size == nullptr) {
        return Damaged("the code object's metadata has an argument without kind or size");
      }
      if (kind->string.substr(0, 7) != "hidden_") sizes.push_back(size->integer);
    }
  }
  return signatures;
}

}  // namespace lanewise::hip

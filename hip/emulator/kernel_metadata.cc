#include "hip/emulator/kernel_metadata.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"

namespace lanewise::emulator {
namespace {

using llvm::msgpack::DocNode;
using llvm::msgpack::MapDocNode;

// A member of a map, or nil.
DocNode Member(MapDocNode& map, llvm::StringRef key) {
  const auto found = map.find(key);
  return found == map.end() ? map.getDocument()->getNode() : found->second;
}

int64_t Number(MapDocNode& map, llvm::StringRef key, int64_t otherwise) {
  const DocNode node = Member(map, key);
  if (node.getKind() == llvm::msgpack::Type::UInt) return static_cast<int64_t>(node.getUInt());
  if (node.getKind() == llvm::msgpack::Type::Int) return node.getInt();
  return otherwise;
}

std::string Text(MapDocNode& map, llvm::StringRef key) {
  const DocNode node = Member(map, key);
  return node.isString() ? node.getString().str() : std::string();
}

bool Flag(MapDocNode& map, llvm::StringRef key) {
  const DocNode node = Member(map, key);
  return node.getKind() == llvm::msgpack::Type::Boolean && node.getBool();
}

absl::Status ReadArguments(DocNode node, Kernel& kernel) {
  if (!node.isArray()) return absl::OkStatus();  // a kernel without arguments
  for (DocNode& element : node.getArray()) {
    if (!element.isMap()) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata of ", kernel.name, ": an argument is no map"));
    }
    MapDocNode& map = element.getMap();
    KernelArgument argument;
    argument.name = Text(map, ".name");
    argument.value_kind = Text(map, ".value_kind");
    argument.offset = Number(map, ".offset", -1);
    argument.size = Number(map, ".size", -1);
    if (argument.offset < 0 || argument.size < 0 || argument.value_kind.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata of ", kernel.name,
                       ": an argument lacks its offset, size or kind (code object V3 or later?)"));
    }
    kernel.arguments.push_back(std::move(argument));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<KernelMetadata>> ReadKernelMetadata(std::string_view note) {
  llvm::msgpack::Document document;
  if (!document.readFromBlob(llvm::StringRef(note.data(), note.size()), /*Multi=*/false) ||
      !document.getRoot().isMap()) {
    return absl::InvalidArgumentError("the code object's metadata is not valid msgpack");
  }
  DocNode list = Member(document.getRoot().getMap(), "amdhsa.kernels");
  std::vector<KernelMetadata> result;
  if (!list.isArray()) return result;
  for (DocNode& element : list.getArray()) {
    if (!element.isMap()) {
      return absl::InvalidArgumentError("the code object's metadata names a kernel without a map");
    }
    MapDocNode& map = element.getMap();
    KernelMetadata entry;
    Kernel& kernel = entry.kernel;
    kernel.name = Text(map, ".name");
    entry.descriptor_symbol = Text(map, ".symbol");
    if (kernel.name.empty() || entry.descriptor_symbol.empty()) {
      return absl::InvalidArgumentError("the code object's metadata has a kernel without a name");
    }
    if (Number(map, ".wavefront_size", 64) != 64) {
      return absl::UnimplementedError(
          absl::StrCat(kernel.name, ": only waves of 64 lanes exist on ", "gfx942 and gfx950"));
    }
    kernel.uses_dynamic_stack = Flag(map, ".uses_dynamic_stack");
    kernel.kernarg_segment_align = Number(map, ".kernarg_segment_align", 8);
    kernel.max_flat_workgroup_size = Number(map, ".max_flat_workgroup_size", 1024);
    kernel.sgpr_count = Number(map, ".sgpr_count", 0);
    kernel.vgpr_count = Number(map, ".vgpr_count", 0);
    kernel.agpr_count = Number(map, ".agpr_count", 0);
    kernel.sgpr_spill_count = Number(map, ".sgpr_spill_count", 0);
    kernel.vgpr_spill_count = Number(map, ".vgpr_spill_count", 0);
    if (absl::Status status = ReadArguments(Member(map, ".args"), kernel); !status.ok()) {
      return status;
    }
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace lanewise::emulator

#include "emulator/load/kernel_metadata.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "emulator/load/msgpack.h"

namespace lanewise::emulator {
namespace {

int64_t Number(const MsgpackValue& map, const char* key, int64_t otherwise) {
  const MsgpackValue* value = map.Find(key);
  return value != nullptr && value->kind == MsgpackValue::Kind::kInteger ? value->integer
                                                                         : otherwise;
}

std::string Text(const MsgpackValue& map, const char* key) {
  const MsgpackValue* value = map.Find(key);
  return value != nullptr ? value->string : std::string();
}

bool Flag(const MsgpackValue& map, const char* key) {
  const MsgpackValue* value = map.Find(key);
  return value != nullptr && value->kind == MsgpackValue::Kind::kBoolean && value->integer != 0;
}

absl::Status ReadArguments(const MsgpackValue& kernel_map, Kernel& kernel) {
  const MsgpackValue* list = kernel_map.Find(".args");
  if (list == nullptr) return absl::OkStatus();  // a kernel without arguments
  for (const MsgpackValue& map : list->array) {
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
  absl::StatusOr<MsgpackValue> root =
      ParseMsgpack({reinterpret_cast<const uint8_t*>(note.data()), note.size()});
  if (!root.ok()) return root.status();
  std::vector<KernelMetadata> result;
  const MsgpackValue* list = root->Find("amdhsa.kernels");
  if (list == nullptr) return result;
  for (const MsgpackValue& map : list->array) {
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
    if (absl::Status status = ReadArguments(map, kernel); !status.ok()) {
      return status;
    }
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace lanewise::emulator

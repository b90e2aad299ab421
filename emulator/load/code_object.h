#ifndef LANEWISE_EMULATOR_LOAD_CODE_OBJECT_H_
#define LANEWISE_EMULATOR_LOAD_CODE_OBJECT_H_

// A code object: an ELF file of AMD machine code, loaded into host memory and decoded.
//
// Source of the formats: LLVM's "User Guide for AMDGPU Backend" (kernel descriptor, code object
// metadata V5 and V6, relocations) and LLVM's own readers of ELF and msgpack.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "emulator/arch.h"
#include "emulator/load/program.h"

namespace lanewise::emulator {

// One argument of a kernel, explicit or hidden, as the metadata has it.
struct KernelArgument {
  std::string name;        // empty without names in the metadata
  std::string value_kind;  // "by_value", "global_buffer", "hidden_group_size_x", ...
  int64_t offset = 0;      // bytes into the kernarg segment
  int64_t size = 0;        // bytes

  bool is_hidden() const { return value_kind.substr(0, 7) == "hidden_"; }
};

struct Kernel {
  std::string name;
  std::vector<KernelArgument> arguments;
  uint32_t entry = 0;  // image offset of the first instruction
  // From the descriptor.
  uint32_t group_segment_size = 0;    // bytes of LDS, without dynamic LDS
  uint32_t private_segment_size = 0;  // bytes of scratch a lane
  uint32_t kernarg_size = 0;
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  uint16_t code_properties = 0;
  uint16_t kernarg_preload = 0;
  // From the metadata.
  bool uses_dynamic_stack = false;
  int64_t kernarg_segment_align = 8;
  int64_t max_flat_workgroup_size = 1024;
  int64_t sgpr_count = 0, vgpr_count = 0, agpr_count = 0;
  int64_t sgpr_spill_count = 0, vgpr_spill_count = 0;

  // Bytes of the explicit arguments: where the last of them ends.
  int64_t ExplicitSize() const;
};

// A variable with a symbol of its own.
struct Variable {
  uint64_t offset = 0;  // into the image
  uint64_t size = 0;
};

class CodeObject {
 public:
  // `bytes`: an ELF code object, or a clang offload bundle (uncompressed) that holds one for
  // `wanted`. Refused: damaged files, other chips, wave32 code, relocations to outside.
  static absl::StatusOr<std::unique_ptr<CodeObject>> Load(std::span<const uint8_t> bytes,
                                                          Arch wanted);
  ~CodeObject();
  CodeObject(const CodeObject&) = delete;
  CodeObject& operator=(const CodeObject&) = delete;

  Arch arch() const { return arch_; }
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const Kernel* FindKernel(std::string_view name) const;
  const Variable* FindVariable(std::string_view name) const;

  // The loaded image; code refers to itself by its addresses.
  uint8_t* image() const { return image_.get(); }
  uint64_t image_size() const { return image_size_; }
  const Program& program() const { return program_; }

  // "file.hip:12" for an image offset of code compiled with -g, else empty.
  std::string SourceLine(uint32_t pc) const;
  // The instruction's assembler text.
  std::string Disassemble(uint32_t pc) const;

 private:
  CodeObject() = default;
  absl::Status LoadElf(std::span<const uint8_t> bytes, Arch wanted);
  absl::Status DecodeText();

  struct FreeImage {
    void operator()(uint8_t* image) const;
  };
  Arch arch_ = Arch::kGfx942;
  std::vector<uint8_t> file_;
  std::unique_ptr<uint8_t[], FreeImage> image_;
  uint64_t image_size_ = 0;
  std::vector<Kernel> kernels_;
  std::map<std::string, Variable, std::less<>> variables_;
  Program program_;
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_LOAD_CODE_OBJECT_H_

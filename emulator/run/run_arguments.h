#ifndef LANEWISE_EMULATOR_RUN_RUN_ARGUMENTS_H_
#define LANEWISE_EMULATOR_RUN_RUN_ARGUMENTS_H_

// The argument words of //emulator:run ("in:a.bin", "i32:7", ...) as a kernarg segment.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "emulator/load/code_object.h"
#include "emulator/memory/allocation_map.h"

namespace lanewise::emulator {

class RunArguments {
 public:
  // Refuses words that do not match the kernel's explicit arguments in number or size.
  static absl::StatusOr<RunArguments> Parse(const std::vector<std::string>& words,
                                            const Kernel& kernel);

  std::span<const uint8_t> kernarg() const { return kernarg_; }
  // The buffers, named by their words.
  std::vector<Allocation> Memory() const;
  // Where the buffers first differ from those of another run of the same words: "byte 4 of
  // out:y.bin:64 is 0x05 or 0x07"; empty where they do not.
  std::string FirstDifference(const RunArguments& other) const;
  // Writes the out and inout buffers to their files.
  absl::Status WriteOutputs() const;

 private:
  struct alignas(4096) Page {
    uint8_t bytes[4096];
  };
  struct Buffer {
    Buffer(std::string word, size_t size);
    std::string word;
    std::vector<Page> pages;  // what `bytes` lies in, aligned so that counters do not vary
    std::span<uint8_t> bytes;
    std::string output;  // empty for in
  };
  absl::Status Add(const std::string& word, const KernelArgument& argument);

  std::vector<uint8_t> kernarg_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_RUN_RUN_ARGUMENTS_H_

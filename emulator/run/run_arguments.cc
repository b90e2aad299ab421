#include "emulator/run/run_arguments.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "emulator/load/read_file.h"

namespace lanewise::emulator {
namespace {

// What an output buffer holds before the kernel writes it.
constexpr uint8_t kPoison = 0xa5;
constexpr int64_t kMaxBuffer = int64_t{1} << 40;

absl::Status BadWord(std::string_view word, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("argument \"", AbslView(word), "\": ", AbslView(why)));
}

template <typename T>
std::vector<uint8_t> Bytes(T value) {
  std::vector<uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// The bytes of "i32:7", "i64:-1" or "f32:0.5".
absl::StatusOr<std::vector<uint8_t>> ValueBytes(std::string_view word, std::string_view kind,
                                                std::string_view text) {
  if (kind == "i64" || kind == "i32") {
    int64_t value = 0;
    if (!absl::SimpleAtoi(AbslView(text), &value)) return BadWord(word, "no integer");
    if (kind == "i64") return Bytes(value);
    if (value < INT32_MIN || value > int64_t{UINT32_MAX}) return BadWord(word, "beyond 32 bits");
    return Bytes(static_cast<uint32_t>(value));
  }
  float value = 0;
  if (!absl::SimpleAtof(AbslView(text), &value)) return BadWord(word, "no number");
  return Bytes(value);
}

}  // namespace

RunArguments::Buffer::Buffer(std::string its_word, size_t size)
    : word(std::move(its_word)), pages(size / sizeof(Page) + 1) {
  bytes = {pages[0].bytes, size};
}

absl::StatusOr<RunArguments> RunArguments::Parse(const std::vector<std::string>& words,
                                                 const Kernel& kernel) {
  std::vector<const KernelArgument*> wanted;
  for (const KernelArgument& argument : kernel.arguments) {
    if (!argument.is_hidden()) wanted.push_back(&argument);
  }
  if (wanted.size() != words.size()) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", kernel.name, " takes ", wanted.size(),
                                                   " arguments, not ", words.size()));
  }
  RunArguments result;
  result.kernarg_.resize(static_cast<size_t>(kernel.ExplicitSize()));
  for (size_t i = 0; i < words.size(); ++i) {
    if (absl::Status status = result.Add(words[i], *wanted[i]); !status.ok()) return status;
  }
  return result;
}

absl::Status RunArguments::Add(const std::string& word, const KernelArgument& argument) {
  const size_t colon = word.find(':');
  if (colon == std::string::npos) return BadWord(word, "expected KIND:VALUE");
  const std::string kind = word.substr(0, colon);
  const std::string rest = word.substr(colon + 1);
  std::vector<uint8_t> value;
  if (kind == "in" || kind == "out" || kind == "inout") {
    std::unique_ptr<Buffer> buffer;
    const size_t split = rest.rfind(':');
    if (kind != "in" && split == std::string::npos) {
      return BadWord(word,
                     kind == "out" ? "expected out:FILE:BYTES" : "expected inout:FILE:OUTFILE");
    }
    if (kind == "out") {
      int64_t size = 0;
      if (!absl::SimpleAtoi(rest.substr(split + 1), &size) || size < 0 || size > kMaxBuffer) {
        return BadWord(word, "no number of bytes");
      }
      buffer = std::make_unique<Buffer>(word, static_cast<size_t>(size));
      buffer->output = rest.substr(0, split);
      std::fill(buffer->bytes.begin(), buffer->bytes.end(), kPoison);
    } else {
      absl::StatusOr<std::vector<uint8_t>> bytes =
          ReadFile(kind == "in" ? rest : rest.substr(0, split));
      if (!bytes.ok()) return bytes.status();
      buffer = std::make_unique<Buffer>(word, bytes->size());
      std::copy(bytes->begin(), bytes->end(), buffer->bytes.begin());
      if (kind == "inout") buffer->output = rest.substr(split + 1);
    }
    value = Bytes(reinterpret_cast<uint64_t>(buffer->bytes.data()));
    buffers_.push_back(std::move(buffer));
  } else if (kind == "i32" || kind == "i64" || kind == "f32") {
    absl::StatusOr<std::vector<uint8_t>> bytes = ValueBytes(word, kind, rest);
    if (!bytes.ok()) return bytes.status();
    value = *std::move(bytes);
  } else {
    return BadWord(word, "unknown kind; there are in, out, inout, i32, i64, f32");
  }
  if (static_cast<int64_t>(value.size()) != argument.size) {
    return BadWord(
        word, absl::StrCat("the kernel's argument ", argument.name, " at byte ", argument.offset,
                           " has ", argument.size, " bytes, not ", value.size()));
  }
  std::memcpy(kernarg_.data() + argument.offset, value.data(), value.size());
  return absl::OkStatus();
}

std::vector<Allocation> RunArguments::Memory() const {
  std::vector<Allocation> result;
  for (const std::unique_ptr<Buffer>& buffer : buffers_) {
    result.push_back({reinterpret_cast<uint64_t>(buffer->bytes.data()), buffer->bytes.size(),
                      absl::StrCat("argument ", buffer->word)});
  }
  return result;
}

absl::Status RunArguments::WriteOutputs() const {
  for (const std::unique_ptr<Buffer>& buffer : buffers_) {
    if (buffer->output.empty()) continue;
    std::ofstream file(buffer->output, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(buffer->bytes.data()),
               static_cast<std::streamsize>(buffer->bytes.size()));
    file.close();
    if (!file)
      return absl::DataLossError(
          absl::StrCat("cannot write ", buffer->output, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace lanewise::emulator

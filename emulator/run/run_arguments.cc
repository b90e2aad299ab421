#include "emulator/run/run_arguments.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "emulator/load/read_file.h"
#include "formats/formats.h"

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

// A kind of integer argument: "i8:-1" and "i8:255" are the same byte.
struct IntegerKind {
  std::string_view name;
  int bits;
};
constexpr IntegerKind kIntegers[] = {{"i1", 1}, {"i8", 8}, {"i16", 16}, {"i32", 32}, {"i64", 64}};

constexpr char kKinds[] = "in, out, inout, i1, i8, i16, i32, i64, f16, bf16, f32, f64";

absl::StatusOr<std::vector<uint8_t>> IntegerBytes(std::string_view word, int bits,
                                                  std::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(AbslView(text), &value)) return BadWord(word, "no integer");
  if (bits == 64) return Bytes(value);
  // Signed or not, but for i1.
  const int64_t least = bits == 1 ? 0 : -(int64_t{1} << (bits - 1));
  if (value < least || value >= int64_t{1} << bits) {
    return BadWord(word, absl::StrCat("beyond ", bits, bits == 1 ? " bit" : " bits"));
  }
  std::vector<uint8_t> bytes = Bytes(value);
  bytes.resize(static_cast<size_t>(bits + 7) / 8);
  return bytes;
}

absl::StatusOr<std::vector<uint8_t>> FloatBytes(std::string_view word, std::string_view kind,
                                                std::string_view text) {
  if (kind == "f64" || kind == "f16" || kind == "bf16") {
    double value = 0;
    if (!absl::SimpleAtod(AbslView(text), &value)) return BadWord(word, "no number");
    if (kind == "f64") return Bytes(value);
    if (kind == "f16") return Bytes(F16::FromDouble(value).bits());
    return Bytes(Bf16::FromDouble(value).bits());
  }
  float value = 0;
  if (!absl::SimpleAtof(AbslView(text), &value)) return BadWord(word, "no number");
  return Bytes(value);
}

// The bytes of "i32:7", "i64:-1" or "f32:0.5"; empty where there is no such kind of value.
absl::StatusOr<std::vector<uint8_t>> ValueBytes(std::string_view word, std::string_view kind,
                                                std::string_view text) {
  for (const IntegerKind& integer : kIntegers) {
    if (integer.name == kind) return IntegerBytes(word, integer.bits, text);
  }
  for (std::string_view name : {"f16", "bf16", "f32", "f64"}) {
    if (name == kind) return FloatBytes(word, kind, text);
  }
  return std::vector<uint8_t>();
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
    LANEWISE_RETURN_IF_ERROR(result.Add(words[i], *wanted[i]));
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
      LANEWISE_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                                ReadFile(kind == "in" ? rest : rest.substr(0, split)));
      buffer = std::make_unique<Buffer>(word, bytes.size());
      std::copy(bytes.begin(), bytes.end(), buffer->bytes.begin());
      if (kind == "inout") buffer->output = rest.substr(split + 1);
    }
    value = Bytes(reinterpret_cast<uint64_t>(buffer->bytes.data()));
    buffers_.push_back(std::move(buffer));
  } else {
    LANEWISE_ASSIGN_OR_RETURN(value, ValueBytes(word, kind, rest));
    if (value.empty()) return BadWord(word, absl::StrCat("unknown kind; there are ", kKinds));
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

std::string RunArguments::FirstDifference(const RunArguments& other) const {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const std::span<const uint8_t> ours = buffers_[i]->bytes;
    const std::span<const uint8_t> theirs = other.buffers_[i]->bytes;
    const auto at = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
    if (at.first == ours.end()) continue;
    return absl::StrCat("byte ", at.first - ours.begin(), " of ", buffers_[i]->word, " is 0x",
                        absl::Hex(*at.first, absl::kZeroPad2), " or 0x",
                        absl::Hex(*at.second, absl::kZeroPad2));
  }
  return "";
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

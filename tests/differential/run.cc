#include "tests/differential/run.h"

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "base/text.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/device.h"
#include "hip/runtime/stream.h"
#include "tests/differential/data.h"
#include "tests/differential/report.h"

namespace lanewise::differential {
namespace {

constexpr std::int64_t kGuardBytes = 256;
constexpr std::uint8_t kGuard = 0xC3;
constexpr std::uint8_t kPoison[] = {0xA5, 0x5A};
constexpr std::size_t kAlignment = 256;

// Aligned host memory of exactly its size, so that a sanitizer sees what passes its end.
class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(std::int64_t bytes)
      : bytes_(static_cast<std::uint8_t*>(
            ::operator new(static_cast<std::size_t>(bytes), std::align_val_t(kAlignment)))) {}
  std::uint8_t* get() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::uint8_t* bytes) const {
      ::operator delete(bytes, std::align_val_t(kAlignment));
    }
  };
  std::unique_ptr<std::uint8_t, Free> bytes_;
};

// FNV-1a: the same on every machine.
std::uint64_t Hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

class CaseRun {
 public:
  CaseRun(const Implementation& implementation, const Shape& shape, std::uint64_t seed,
          const Tampering& tampering)
      : implementation_(implementation),
        operation_(*implementation.operation),
        shape_(shape),
        seed_(seed),
        tampering_(tampering) {}

  absl::Status Run(std::int64_t* kinds, std::optional<Data> only) {
    bool listed = false;
    for (const Data data : operation_.data) {
      if (only && data != *only) continue;
      listed = true;
      LANEWISE_RETURN_IF_ERROR(RunData(data));
      if (kinds != nullptr) ++*kinds;
    }
    if (only && !listed) {
      return InvalidArgument(operation_.name, " does not list the data '", DataName(*only), "'");
    }
    return absl::OkStatus();
  }

 private:
  // A report: the case's line, what went wrong, and how to see it again.
  absl::Status Failure(std::string_view what) const {
    const std::string name = absl::StrCat(SuiteName(implementation_), ".", shape_.Text());
    return Internal(operation_.name, " on ", implementation_.backend, ", ", shape_.Text(),
                    ", data ", DataName(data_), ", seed ", seed_, "\n", what,
                    "\n  again: ./bazelw run //tests/differential:check -- --case '", name,
                    "' --data '", DataName(data_), "' --seed ", seed_, implementation_.repeat);
  }

  // Memory of the call's operands, as the reference sees it.
  absl::StatusOr<Call> Prepare(std::vector<HostMemory>& memory) const {
    LANEWISE_ASSIGN_OR_RETURN(std::vector<Operand> operands, OperandsOf(operation_, shape_));
    Call call;
    call.shape = &shape_;
    call.operands = std::move(operands);
    for (Operand& operand : call.operands) {
      memory.emplace_back(operand.bytes);
      operand.data = memory.back().get();
      std::memset(operand.data, kPoison[0], static_cast<std::size_t>(operand.bytes));
    }
    return call;
  }

  absl::Status RunData(Data data) {
    data_ = data;
    std::vector<HostMemory> memory;
    LANEWISE_ASSIGN_OR_RETURN(Call prepared, Prepare(memory));
    Call& call = prepared;
    // The kind's own seed does not depend on which kinds ran before.
    std::mt19937_64 random(Hash(
        absl::StrCat(operation_.name, "/", shape_.Text(), "/", AbslView(DataName(data))), seed_));
    std::vector<std::vector<double>> tolerances(call.operands.size());
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      Operand& operand = call.operands[i];
      if (operand.argument->role == Role::kInput) Fill(data, operand, call, random);
      if (operand.argument->contract == Contract::kWithin) {
        tolerances[i].assign(static_cast<std::size_t>(operand.elements), 0.0);
        operand.tolerance = tolerances[i].data();
      }
    }
    // Taken before the reference runs, which must leave its inputs alone as well.
    std::vector<Image> before = MakeImages(call, 0);
    const absl::Status expected = operation_.reference(call);
    LANEWISE_RETURN_IF_ERROR(CheckReference(call, before));

    if (!expected.ok() && !implementation_.can_refuse) return absl::OkStatus();

    std::vector<Image> first;
    for (int run = 0; run < 2; ++run) {
      std::vector<Image> sent = run == 0 ? std::move(before) : MakeImages(call, run);
      if (tampering_.before) tampering_.before(sent);
      std::vector<Image> left = sent;
      absl::Status status = RunImplementation(left);
      if (!expected.ok() || !status.ok()) {
        if (expected.ok()) {
          const bool refuses = implementation_.can_refuse && Refuses(status);
          return Failure(absl::StrCat(
              refuses ? "  it refuses: " : "  it fails: ", std::string(StdView(status.message())),
              refuses ? "\n  the reference does not" : ""));
        }
        if (status.ok()) {
          return Failure(absl::StrCat("  it accepts; the reference refuses: ",
                                      std::string(StdView(expected.message()))));
        }
        if (!Refuses(status))
          return Failure(absl::StrCat("  ", std::string(StdView(status.message()))));
        // A refusal, too, leaves inputs and guards as they were, both times.
        LANEWISE_RETURN_IF_ERROR(CheckIntact(sent, left));
        continue;
      }
      if (tampering_.after) tampering_.after(run, left);
      LANEWISE_RETURN_IF_ERROR(CheckIntact(sent, left));
      if (run == 0) {
        LANEWISE_RETURN_IF_ERROR(CheckOutputs(call, left));
        first = std::move(left);
      } else
        LANEWISE_RETURN_IF_ERROR(CheckSame(call, first, left));
    }
    return absl::OkStatus();
  }

  // Refusals are about arguments; anything else, such as a fault in a kernel, is a failure.
  static bool Refuses(const absl::Status& status) {
    return status.code() == absl::StatusCode::kInvalidArgument ||
           status.code() == absl::StatusCode::kFailedPrecondition ||
           status.code() == absl::StatusCode::kOutOfRange ||
           status.code() == absl::StatusCode::kUnimplemented;
  }

  std::vector<Image> MakeImages(const Call& call, int run) const {
    std::vector<Image> images;
    for (const Operand& operand : call.operands) {
      Image image;
      image.argument = operand.argument;
      image.guard = run == 0 || operand.bytes == 0 ? kGuardBytes : 0;
      image.bytes = operand.bytes;
      image.all.assign(static_cast<std::size_t>(operand.bytes + 2 * image.guard), kGuard);
      if (operand.argument->role == Role::kInput) {
        if (operand.bytes > 0) {
          std::memcpy(image.data(), operand.data, static_cast<std::size_t>(operand.bytes));
        }
      } else {
        std::memset(image.data(), kPoison[run], static_cast<std::size_t>(operand.bytes));
      }
      images.push_back(std::move(image));
    }
    return images;
  }

  // Runs on what the images hold and leaves there what it left.
  absl::Status RunImplementation(std::vector<Image>& images) const {
    LANEWISE_ASSIGN_OR_RETURN(std::vector<Operand> operands, OperandsOf(operation_, shape_));
    Call call;
    call.shape = &shape_;
    call.operands = std::move(operands);
    return implementation_.device == nullptr ? RunOnHost(call, images) : RunOnDevice(call, images);
  }

  absl::Status RunOnHost(Call& call, std::vector<Image>& images) const {
    std::vector<HostMemory> memory;
    for (std::size_t i = 0; i < images.size(); ++i) {
      memory.emplace_back(static_cast<std::int64_t>(images[i].all.size()));
      std::memcpy(memory[i].get(), images[i].all.data(), images[i].all.size());
      call.operands[i].data = memory[i].get() + images[i].guard;
    }
    absl::Status status = implementation_.run(call);
    for (std::size_t i = 0; i < images.size(); ++i) {
      std::memcpy(images[i].all.data(), memory[i].get(), images[i].all.size());
    }
    return status;
  }

  absl::Status RunOnDevice(Call& call, std::vector<Image>& images) const {
    LANEWISE_RETURN_IF_ERROR(implementation_.device->MakeCurrent());
    const hip::Stream stream = hip::Stream::Default();
    call.device = implementation_.device;
    call.stream = &stream;
    std::vector<hip::Buffer> buffers;
    for (std::size_t i = 0; i < images.size(); ++i) {
      LANEWISE_ASSIGN_OR_RETURN(
          hip::Buffer buffer,
          hip::Buffer::Of(std::span<const std::uint8_t>(images[i].all), images[i].argument->name));
      call.operands[i].data = static_cast<std::uint8_t*>(buffer.data()) + images[i].guard;
      buffers.push_back(std::move(buffer));
    }
    LANEWISE_RETURN_IF_ERROR(implementation_.run(call));
    if (absl::Status status = stream.Synchronize(); !status.ok()) {
      return Internal(status.message());
    }
    for (std::size_t i = 0; i < images.size(); ++i) {
      absl::Status status = buffers[i].CopyTo(std::span<std::uint8_t>(images[i].all));
      if (!status.ok()) return Internal(status.message());
    }
    return absl::OkStatus();
  }

  absl::Status CheckIntact(std::vector<Image>& sent, std::vector<Image>& left) const {
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const Argument& argument = *sent[i].argument;
      const auto size = static_cast<std::int64_t>(sent[i].all.size());
      if (std::memcmp(sent[i].all.data(), left[i].all.data(), sent[i].all.size()) == 0) continue;
      for (std::int64_t at = 0; at < size; ++at) {
        const bool guard = at < sent[i].guard || at >= sent[i].guard + sent[i].bytes;
        if (!guard && argument.role != Role::kInput) continue;
        const std::uint8_t was = sent[i].all[static_cast<std::size_t>(at)];
        const std::uint8_t is = left[i].all[static_cast<std::size_t>(at)];
        if (was == is) continue;
        const std::int64_t offset = at - sent[i].guard;
        return Failure(absl::StrFormat(
            "  %s: byte %d of %d is written, %s: it was 0x%02X and is 0x%02X", argument.name,
            offset, sent[i].bytes,
            guard ? (offset < 0 ? "before the buffer" : "behind the buffer") : "an input's", was,
            is));
      }
    }
    return absl::OkStatus();
  }

  // That the reference left its inputs as they were before it.
  absl::Status CheckReference(const Call& call, std::vector<Image>& before) const {
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i].argument->role != Role::kInput) continue;
      const auto* const left = static_cast<const std::uint8_t*>(call.operands[i].data);
      for (std::int64_t at = 0; at < before[i].bytes; ++at) {
        if (before[i].data()[at] == left[at]) continue;
        return Failure(absl::StrFormat(
            "  %s: the reference writes an input's byte %d of %d: it was 0x%02X and is 0x%02X",
            before[i].argument->name, at, before[i].bytes, before[i].data()[at], left[at]));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckOutputs(const Call& call, std::vector<Image>& left) {
    std::string text;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left[i].argument->role != Role::kOutput) continue;
      const Difference difference = Compare(call.operands[i], left[i].data(), shape_);
      if (difference.count == 0) continue;
      absl::StrAppend(&text, text.empty() ? "" : "\n", difference.text);
      if (operation_.moves && !tampering_.after && difference.first >= 0) {
        absl::StrAppend(&text, SourceText(i, difference.first));
      }
    }
    return text.empty() ? absl::OkStatus() : Failure(text);
  }

  absl::Status CheckSame(const Call& call, std::vector<Image>& first,
                         std::vector<Image>& second) const {
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (first[i].argument->role != Role::kOutput) continue;
      Operand again = call.operands[i];
      Argument bits = *again.argument;
      bits.contract = Contract::kBits;
      again.argument = &bits;
      again.data = first[i].data();
      const Difference difference = Compare(again, second[i].data(), shape_);
      if (difference.count == 0) continue;
      return Failure(
          absl::StrCat("  a second run, from outputs of 0x5A in place of 0xA5, differs "
                       "from the first\n",
                       difference.text));
    }
    return absl::OkStatus();
  }

  // Of an operation that moves elements: which input element lies where output element `at` of
  // operand `output` belongs. The inputs of each run are some bits of every element's index, as
  // many as an element has; a last run with the lowest bits inverted tells what does not
  // come from there.
  std::string SourceText(std::size_t output, std::int64_t at) const {
    std::vector<HostMemory> memory;
    absl::StatusOr<Call> call = Prepare(memory);
    if (!call.ok()) return "";
    std::size_t input = 0;
    while (call->operands[input].argument->role != Role::kInput) ++input;
    const Operand& source = call->operands[input];
    const int bits = FormatBits(source.argument->format);
    // What the output's element is when input element i holds code(i); nothing if it is refused.
    const auto read = [&](const auto& code) -> std::optional<std::uint32_t> {
      for (std::int64_t i = 0; i < source.elements; ++i) {
        SetBits(bits, source.data, i, static_cast<std::uint32_t>(code(i)));
      }
      std::vector<Image> images = MakeImages(*call, 0);
      if (tampering_.before) tampering_.before(images);
      if (!RunImplementation(images).ok()) return std::nullopt;
      return GetBits(bits, images[output].data(), at);
    };
    std::int64_t index = 0;
    // At most 2^40 elements (OperandsOf), so that no shift passes 63.
    for (int shift = 0; shift == 0 || (source.elements - 1) >> shift > 0; shift += bits) {
      const auto found = read([&](std::int64_t i) { return i >> shift; });
      if (!found) return "";
      index |= static_cast<std::int64_t>(*found) << shift;
    }
    const auto inverse = read([](std::int64_t i) { return ~i; });
    if (!inverse) return "";
    const std::uint32_t mask = 0xFFFFFFFFu >> (32 - bits);
    const bool moved = *inverse == (~static_cast<std::uint32_t>(index) & mask);
    if (!moved || index >= source.elements) return "\n  it holds no element of the input";
    return absl::StrCat("\n  it holds the input's element ", PlaceText(source, shape_, index));
  }

  const Implementation& implementation_;
  const Operation& operation_;
  const Shape& shape_;
  std::uint64_t seed_;
  const Tampering& tampering_;
  Data data_ = Data::kRandomBits;
};

}  // namespace

absl::Status RunCase(const Implementation& implementation, const Shape& shape, std::uint64_t seed,
                     const Tampering& tampering, std::int64_t* kinds, std::optional<Data> only) {
  return CaseRun(implementation, shape, seed, tampering).Run(kinds, only);
}

std::string SuiteName(const Implementation& implementation) {
  return absl::StrCat(implementation.backend, "/", implementation.operation->name);
}

}  // namespace lanewise::differential

#include "emulator/load/offload_bundle.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace lanewise::emulator {
namespace {

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
// More entries than any compiler makes; keeps a damaged count from being believed.
constexpr uint64_t kMaxEntries = 4096;

uint64_t ReadU64(const uint8_t* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

std::string_view Prefix(std::span<const uint8_t> bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min(size, bytes.size())};
}

// "hip-amdgcn-amd-amdhsa--gfx942:xnack-" names gfx942.
bool IsFor(std::string_view entry, Arch arch) {
  const size_t at = entry.rfind("gfx");
  if (at == std::string_view::npos || entry.substr(0, 4) == "host") return false;
  const std::string_view name = entry.substr(at);
  return name.substr(0, name.find(':')) == ArchName(arch);
}

}  // namespace

absl::StatusOr<std::span<const uint8_t>> SelectCodeObject(std::span<const uint8_t> bytes,
                                                          Arch arch) {
  if (Prefix(bytes, kCompressedMagic.size()) == kCompressedMagic) {
    return absl::UnimplementedError(
        "the code object is a compressed offload bundle; compile with --no-offload-compress");
  }
  if (Prefix(bytes, kBundleMagic.size()) != kBundleMagic) return bytes;
  const auto damaged = [](std::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("damaged offload bundle: ", std::string(what)));
  };
  size_t at = kBundleMagic.size();
  if (bytes.size() < at + 8) return damaged("it ends before its count of entries");
  const uint64_t count = ReadU64(bytes.data() + at);
  at += 8;
  if (count > kMaxEntries) return damaged("its count of entries is not plausible");
  std::string found;
  for (uint64_t i = 0; i < count; ++i) {
    if (bytes.size() - at < 24) return damaged("it ends inside its table");
    const uint64_t offset = ReadU64(bytes.data() + at);
    const uint64_t size = ReadU64(bytes.data() + at + 8);
    const uint64_t name_size = ReadU64(bytes.data() + at + 16);
    at += 24;
    if (name_size > bytes.size() - at) return damaged("it ends inside a name");
    const std::string_view name = Prefix(bytes.subspan(at), name_size);
    at += name_size;
    if (IsFor(name, arch)) {
      if (offset > bytes.size() || size > bytes.size() - offset) {
        return damaged("an entry lies outside of the file");
      }
      return bytes.subspan(offset, size);
    }
    absl::StrAppend(&found, found.empty() ? "" : ", ", std::string(name));
  }
  return absl::NotFoundError(absl::StrCat("the offload bundle has no code object for ",
                                          std::string(ArchName(arch)), "; it has ", found));
}

absl::StatusOr<uint64_t> ImageSize(const uint8_t* bytes) {
  if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr header;
    std::memcpy(&header, bytes, sizeof(header));
    uint64_t end =
        std::max<uint64_t>(header.e_shoff + uint64_t{header.e_shentsize} * header.e_shnum,
                           header.e_phoff + uint64_t{header.e_phentsize} * header.e_phnum);
    for (int i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      std::memcpy(&segment, bytes + header.e_phoff + uint64_t{header.e_phentsize} * i,
                  sizeof(segment));
      end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
    }
    return end;
  }
  if (std::memcmp(bytes, kBundleMagic.data(), kBundleMagic.size()) == 0) {
    size_t at = kBundleMagic.size();
    const uint64_t count = ReadU64(bytes + at);
    at += 8;
    if (count > kMaxEntries) return absl::InvalidArgumentError("damaged offload bundle");
    uint64_t end = at;
    for (uint64_t i = 0; i < count; ++i) {
      end = std::max(end, ReadU64(bytes + at) + ReadU64(bytes + at + 8));
      at += 24 + ReadU64(bytes + at + 16);
      end = std::max<uint64_t>(end, at);
    }
    return end;
  }
  return absl::InvalidArgumentError("the image is neither an ELF file nor an offload bundle");
}

}  // namespace lanewise::emulator

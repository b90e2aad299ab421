#include "emulator/load/msgpack.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace lanewise::emulator {
namespace {

constexpr int kMaxDepth = 32;

class Parser {
 public:
  explicit Parser(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  absl::StatusOr<MsgpackValue> Parse(int depth) {
    if (depth > kMaxDepth) return absl::InvalidArgumentError("msgpack: nested too deeply");
    uint64_t tag = 0;
    if (!Number(1, tag)) return Truncated();
    if (tag <= 0x7f) return Integer(static_cast<int64_t>(tag));
    if (tag >= 0xe0) return Integer(static_cast<int8_t>(tag));
    if ((tag & 0xf0) == 0x80) return Map(tag & 15, depth);
    if ((tag & 0xf0) == 0x90) return Array(tag & 15, depth);
    if ((tag & 0xe0) == 0xa0) return String(tag & 31);
    uint64_t value = 0;
    switch (tag) {
      case 0xc0:
        return MsgpackValue();
      case 0xc2:
      case 0xc3:
        return Boolean(tag == 0xc3);
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:  // unsigned of 1, 2, 4, 8 bytes
        if (!Number(1 << (tag - 0xcc), value)) return Truncated();
        return Integer(static_cast<int64_t>(value));
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:  // signed
        return Signed(1 << (tag - 0xd0));
      case 0xd9:
      case 0xda:
      case 0xdb:
        if (!Number(1 << (tag - 0xd9), value)) return Truncated();
        return String(value);
      case 0xdc:
      case 0xdd:
        if (!Number(2 << (tag - 0xdc), value)) return Truncated();
        return Array(value, depth);
      case 0xde:
      case 0xdf:
        if (!Number(2 << (tag - 0xde), value)) return Truncated();
        return Map(value, depth);
      default:
        return absl::InvalidArgumentError(
            absl::StrCat("msgpack: unexpected type 0x", absl::Hex(tag), " at byte ", at_ - 1));
    }
  }

 private:
  static absl::Status Truncated() {
    return absl::InvalidArgumentError("msgpack: the data end inside a value");
  }

  // A big-endian number of `size` bytes.
  bool Number(size_t size, uint64_t& value) {
    if (bytes_.size() - at_ < size) return false;
    value = 0;
    for (size_t i = 0; i < size; ++i) value = value << 8 | bytes_[at_++];
    return true;
  }

  static MsgpackValue Integer(int64_t value) {
    MsgpackValue result;
    result.kind = MsgpackValue::Kind::kInteger;
    result.integer = value;
    return result;
  }

  static MsgpackValue Boolean(bool value) {
    MsgpackValue result;
    result.kind = MsgpackValue::Kind::kBoolean;
    result.integer = value ? 1 : 0;
    return result;
  }

  absl::StatusOr<MsgpackValue> Signed(int size) {
    uint64_t value = 0;
    if (!Number(static_cast<size_t>(size), value)) return Truncated();
    const int unused = 64 - 8 * size;
    return Integer(static_cast<int64_t>(value << unused) >> unused);
  }

  absl::StatusOr<MsgpackValue> String(uint64_t size) {
    if (bytes_.size() - at_ < size) return Truncated();
    MsgpackValue result;
    result.kind = MsgpackValue::Kind::kString;
    result.string.assign(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
    return result;
  }

  absl::StatusOr<MsgpackValue> Array(uint64_t count, int depth) {
    MsgpackValue result;
    result.kind = MsgpackValue::Kind::kArray;
    for (uint64_t i = 0; i < count; ++i) {
      absl::StatusOr<MsgpackValue> element = Parse(depth + 1);
      if (!element.ok()) return element;
      result.array.push_back(*std::move(element));
    }
    return result;
  }

  absl::StatusOr<MsgpackValue> Map(uint64_t count, int depth) {
    MsgpackValue result;
    result.kind = MsgpackValue::Kind::kMap;
    for (uint64_t i = 0; i < count; ++i) {
      absl::StatusOr<MsgpackValue> key = Parse(depth + 1);
      if (!key.ok()) return key;
      if (key->kind != MsgpackValue::Kind::kString) {
        return absl::InvalidArgumentError("msgpack: a map's key is no string");
      }
      absl::StatusOr<MsgpackValue> value = Parse(depth + 1);
      if (!value.ok()) return value;
      result.keys.push_back(std::move(key->string));
      result.array.push_back(*std::move(value));
    }
    return result;
  }

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace

const MsgpackValue* MsgpackValue::Find(const std::string& key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &array[i];
  }
  return nullptr;
}

absl::StatusOr<MsgpackValue> ParseMsgpack(std::span<const uint8_t> bytes) {
  return Parser(bytes).Parse(0);
}

}  // namespace lanewise::emulator

#ifndef LANEWISE_EMULATOR_LOAD_MSGPACK_H_
#define LANEWISE_EMULATOR_LOAD_MSGPACK_H_

// As much of MessagePack as code objects' metadata use: maps, arrays, strings, integers, booleans
// and nil.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lanewise::emulator {

struct MsgpackValue {
  enum class Kind { kNil, kBoolean, kInteger, kString, kArray, kMap } kind = Kind::kNil;
  int64_t integer = 0;  // kBoolean: 0 or 1
  std::string string;
  std::vector<MsgpackValue> array;  // kArray: the elements; kMap: the values
  std::vector<std::string> keys;    // kMap: one for each value

  // A map's member of that name, or null.
  const MsgpackValue* Find(const std::string& key) const;
};

// The one value that `bytes` begin with. Refuses floats, binary and extension types, keys that are
// no strings, and nesting deeper than 32.
absl::StatusOr<MsgpackValue> ParseMsgpack(std::span<const uint8_t> bytes);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_LOAD_MSGPACK_H_

#ifndef LANEWISE_TOOLS_DEMO_CHECKPOINT_MAKER_H_
#define LANEWISE_TOOLS_DEMO_CHECKPOINT_MAKER_H_

// Makes checkpoints of random weights, for the demo and for tests.

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/safetensors/safetensors_header.h"

namespace lanewise::tools {

// Equal seeds and calls give equal bytes.
class CheckpointMaker {
 public:
  explicit CheckpointMaker(std::uint64_t seed) : random_(seed) {}

  // e4m3 bytes [n, k]: any but the NaNs, so zeros of both signs are among them.
  void AddE4m3(const std::string& name, std::int64_t n, std::int64_t k);
  // Packed e2m1, any bytes. Elements of `dtype` (U8, I8, or F4, whose shape counts elements).
  void AddE2m1(const std::string& name, DType dtype, std::vector<std::int64_t> shape);
  // Scale codes 110 .. 140 as U8 or F8_E8M0.
  void AddCodes(const std::string& name, DType dtype, std::vector<std::int64_t> shape);
  // Row codes [n, columns] that are the same for every 32 rows.
  void AddFoldingRowCodes(const std::string& name, DType dtype, std::int64_t n,
                          std::int64_t columns);
  // Numbers around 1 as bf16.
  void AddBf16(const std::string& name, std::vector<std::int64_t> shape);
  // What a loader makes of random e4m3 bytes [n, k] under the codes added last, [n / 32, k / 32] or
  // [n, k / 32]: their values as bf16.
  void AddDequantized(const std::string& name, std::int64_t n, std::int64_t k);
  // Any bytes.
  void Add(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
           std::vector<std::uint8_t> bytes);

  struct Tensor {
    TensorSpec spec;
    std::vector<std::uint8_t> bytes;
  };
  std::vector<Tensor>& tensors() { return tensors_; }
  std::map<std::string, std::string>& metadata() { return metadata_; }

  // Writes one file.
  absl::Status Write(const std::string& path) const;
  // Writes an index and `shards` files into a directory that exists.
  absl::Status WriteSharded(const std::string& directory, int shards) const;

 private:
  int Random(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  absl::Status WriteTensors(const std::string& path, std::size_t begin, std::size_t end) const;

  std::mt19937_64 random_;
  std::vector<Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_DEMO_CHECKPOINT_MAKER_H_

#ifndef LANEWISE_BENCHMARKS_PACK_CASES_H_
#define LANEWISE_BENCHMARKS_PACK_CASES_H_

// What the packing benchmark measures: every catalogue layout of rows and bytes in both directions,
// with and without the rewrites that its preparation has, and the preparations that compute.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanewise::benchmarks {

// What the bytes of the source have to be for a case to run.
enum class Contents {
  kRandom,
  kFinite,  // e4m3 bytes, none of them NaN
  kCodes,   // scale codes in the usual range
  kBf16,    // dequantized e4m3 under kCodes
};

// A case at one size.
struct Work {
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
  std::function<absl::Status(int threads)> run;

  // What memcpy of as much traffic copies.
  std::int64_t copy_bytes() const { return (read_bytes + written_bytes) / 2; }
};

struct Case {
  std::string layout;
  std::string direction;  // "pack" or "unpack"
  std::string rewrite;    // what happens to the bytes on the way, or "none"
  Contents contents = Contents::kRandom;
  double target = 0;  // the ratio to the better copy that it should reach, from 4 MiB up

  // Work whose copy_bytes is about `bytes`, from `from` into `to`, which have room for 2 `bytes`
  // and stay alive. Both are filled before it runs, from `contents`; `codes`
  // holds kCodes, a 32nd of `bytes` and more.
  std::function<absl::StatusOr<Work>(std::int64_t bytes, std::span<std::uint8_t> from,
                                     std::span<std::uint8_t> codes, std::span<std::uint8_t> to)>
      bind;

  std::string Name() const { return layout + "/" + direction + "/" + rewrite; }
};

std::vector<Case> PackCases();

// Fills `bytes` with contents; deterministic.
void Fill(Contents contents, std::span<std::uint8_t> bytes);

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_PACK_CASES_H_

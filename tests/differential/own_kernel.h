#ifndef LANEWISE_TESTS_DIFFERENTIAL_OWN_KERNEL_H_
#define LANEWISE_TESTS_DIFFERENTIAL_OWN_KERNEL_H_

// Somebody else's implementation of an operation, described by a JSON file:
//
//   {"operation": "dequantize/e4m3fn_to_f32",
//    "code_object": "mine.hsaco",               beside the JSON file, or an absolute path
//    "arch": "gfx942",
//    "kernel": "MyKernel",
//    "grid": ["ceil(M * K, 256)"],              workgroups; 1 to 3 expressions of the dimensions
//    "block": [256],                            work-items; "dynamic_lds": bytes, likewise
//    "arguments": ["elements", "codes", "out", {"i32": "M"}, {"i64": "K"}],
//    "where": {"plan": "dense"}}                only the shapes with these values; may be left out
//
// or, in place of code_object, arch, kernel, grid and block, "library" (a shared object) and
// "function", a C function
//
//   int function(void* const* buffers, const int64_t* numbers);
//
// which gets the arguments that are names in `buffers` and the others in `numbers`, each in its
// order, and returns 0, or another number to refuse. A kernel gets them all, pointers and integers
// of the size they name, in the one order. There is more of expressions in expression.h.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/differential/backend.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {

struct OwnKernel {
  // The operation with the implementation in place of its own; the shapes that `where` leaves are
  // chosen by Matches.
  std::unique_ptr<Operation> operation;
  std::string backend;  // "host" for a library, else by `arch`: "emulator_gfx942"
  std::map<std::string, std::string> where;
  // Of a code object: loads it and finds the kernel. Internal names the file and the field. The
  // implementation does so at its first call, too.
  std::function<absl::Status(const hip::Device&)> load = {};

  bool Matches(const Shape& shape) const;
};

// Reads and checks the file, loads the library or the code object. InvalidArgument names the file
// and the field: one that is missing, there twice, unknown or of another type, an operation,
// argument or dimension that does not exist, an expression at its character. `operation`, unless
// empty, is what the field has to say, and may then be left out of the file. `on_gpu`: the kernel
// is for the backend "gpu".
absl::StatusOr<OwnKernel> ReadOwnKernel(const std::string& path, const std::string& operation,
                                        bool on_gpu);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_OWN_KERNEL_H_

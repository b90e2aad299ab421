#ifndef LANEWISE_TESTS_DIFFERENTIAL_OPERATION_H_
#define LANEWISE_TESTS_DIFFERENTIAL_OPERATION_H_

// What the engine of differential tests knows of an operation: its dimensions, arguments, shapes,
// reference and implementations. One entry describes it; docs/testing.md shows how to add one.
//
// Every argument is a plain array: an element format, extents, and bytes in row-major order. So a
// reference over Eigen tensors, a SIMD routine, a launcher, somebody's code object and a C function
// all take the same call.

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "layouts/bound_layout.h"
#include "tests/differential/shape.h"

namespace lanewise::hip {
class Device;
class Stream;
}  // namespace lanewise::hip

namespace lanewise::differential {

// What the numbers of a case's inputs look like. Every case of an operation goes through all kinds
// that the operation lists.
enum class Data {
  kRandomBits,  // every code as likely, NaN and infinities among them where `allow_nan`
  kAllCodes,    // a sweep: element i is code i of the format, 16-bit formats in strides
  kIota,        // element i is i, mod the format's codes; what moves bytes is told where they came
                // from
  kNormal,      // normally distributed numbers, as weights and activations are
  kSubnormals,  // zeros and the format's subnormals, both signs
  kNegativeZeros,  // -0 among small numbers (of FNUZ: zeros)
  kNan,            // numbers with a few NaN, and infinities where the format has them
  kExtremeScales,  // scale codes from both ends; floats of all exponents
  kOneHot,         // one element a row is not zero, each row another column
  kCancellation,   // the second half of a row undoes the first, but for one element
};
inline constexpr Data kAllData[] = {Data::kRandomBits,  Data::kAllCodes,      Data::kIota,
                                    Data::kNormal,      Data::kSubnormals,    Data::kNegativeZeros,
                                    Data::kNan,         Data::kExtremeScales, Data::kOneHot,
                                    Data::kCancellation};
// "random bits": the kind's name in reports and for `check --data`.
std::string_view DataName(Data data);
std::optional<Data> FindData(std::string_view name);

enum class Role { kInput, kOutput, kWorkspace };

// How an output is compared with the reference's.
enum class Contract {
  kBits,     // every bit
  kNumbers,  // every bit, but for a NaN's payload and sign
  kWithin,   // |got - expected| <= the tolerance that the reference states; NaN where NaN
};

struct Call;

// The memory order of an argument, and what its logical axes are called.
struct LayoutView {
  BoundLayout bound;
  std::vector<std::string> axes;
};

struct Argument {
  std::string name;
  // A format of formats/registry.h, or "u8", "u16", "u32", "i32", "f32":
  // bits without a meaning, or numbers.
  std::string format;
  Role role = Role::kInput;
  // Expressions of the dimensions (tests/differential/expression.h). Elements of 4 bits lie two a
  // byte, the even one in the low nibble; the total is rounded up to bytes.
  std::vector<std::string> extents;
  Contract contract = Contract::kBits;
  // Of inputs. The codes drawn are below this (0: all), such as 250 for scales of gfx942.
  int code_limit = 0;
  // Draws NaN and infinities under kRandomBits, kAllCodes and kNan only if set.
  bool allow_nan = true;
  // Under kCancellation the second half of every row repeats the first. Set on one of two factors,
  // it is the first's negated there, so that the products' sum cancels.
  bool negate_second_half = false;
  // Fills the argument instead of the engine. It has the bytes in call.Bytes(name) and every
  // argument before it filled.
  std::function<void(Data, const Call&, std::mt19937_64&)> generate = {};
  // How an argument whose memory order is a layout's names its elements: the layout bound to its
  // logical extents. The report then speaks of logical coordinates and of the layout's factors.
  // A unit of the layout is one element of the argument.
  std::function<absl::StatusOr<LayoutView>(const Shape&)> layout = {};
};

// One argument of one call.
struct Operand {
  const Argument* argument = nullptr;
  std::vector<std::int64_t> extents;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  void* data =
      nullptr;  // 256-byte aligned; memory of the device for implementations that run there
  // Of outputs with kWithin, in the reference's call alone: one number for each element, 0 where
  // the reference leaves it. Negative: every bit but a NaN's. Infinite: the bound says nothing,
  // because sums may pass the format's range.
  double* tolerance = nullptr;
};

// A call of the reference or of an implementation.
struct Call {
  const Shape* shape = nullptr;
  std::vector<Operand> operands;
  const hip::Device* device = nullptr;  // of implementations on a device
  const hip::Stream* stream = nullptr;

  // The value of a dimension of the operation.
  std::int64_t operator[](std::string_view dimension) const { return (*shape)[dimension]; }
  // The argument of that name, which the operation must have.
  const Operand& At(std::string_view name) const;
  template <class T = void>
  T* Data(std::string_view name) const {
    return static_cast<T*>(At(name).data);
  }
  std::span<std::uint8_t> Bytes(std::string_view name) const {
    const Operand& operand = At(name);
    return {static_cast<std::uint8_t*>(operand.data), static_cast<std::size_t>(operand.bytes)};
  }
};

// Reads the inputs and fills the outputs, or refuses. Where the reference refuses, every
// implementation has to; a device's function only queues its work.
using Function = std::function<absl::Status(const Call&)>;

struct Operation {
  std::string name;  // "gfx942/dense"
  std::vector<Dimension> dimensions;
  std::string shapes;  // tests/differential/shape.h
  std::vector<Argument> arguments;
  std::vector<Data> data;
  Function reference;
  Function host = {};    // backend "host"
  Function device = {};  // backends "emulator_gfx942", "emulator_gfx950", "gpu"
  // What `device` has code for; hip::Device::Runs says what that runs on.
  std::vector<std::string> chips = {"gfx942", "gfx950", "sm_80"};
  // The one input is moved to the one output, byte for byte: a wrong element's source can be told.
  bool moves = false;
};

// All operations, in the order of their names.
std::vector<const Operation*> Operations();
// The operation of that name, or null.
const Operation* FindOperation(std::string_view name);

// Registers an operation before main begins: a namespace-scope constant of an operation's file. An
// operation of a name that is there already ends the program.
class Registration {
 public:
  explicit Registration(Operation operation);
};

// Bits of one element. 0 for a name that is no format.
int FormatBits(std::string_view format);
// The call's operands with their extents, without memory. InvalidArgument names the argument.
absl::StatusOr<std::vector<Operand>> OperandsOf(const Operation& operation, const Shape& shape);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_OPERATION_H_

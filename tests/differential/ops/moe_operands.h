#ifndef LANEWISE_TESTS_DIFFERENTIAL_OPS_MOE_OPERANDS_H_
#define LANEWISE_TESTS_DIFFERENTIAL_OPS_MOE_OPERANDS_H_

// What the operations of gfx942's routed experts have in common: the problem of a shape, routings,
// the grouping of picks by expert, and quantized rows in the order of the operand.
//
// Dimensions: T tokens, top picks of each, E experts whose weights there are, hidden, inter; held:
// whether those are all of the layer or the middle ones of E + 3, counted from 1; bias.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "hip/gfx942/moe_problem.h"
#include "reference/gemm/operand.h"
#include "reference/tensor.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {

// Elements between an expert's biases and the next one's where not all are held.
inline constexpr int kW13BiasGap = 2;
inline constexpr int kW2BiasGap = 4;

hip::gfx942::MoeProblem MoeProblemOf(const Call& call);
// OK, or what the launchers refuse.
absl::Status CheckMoeShape(const hip::gfx942::MoeProblem& problem);

// The expert indices [T, top]. Each kind of data is another routing, kRandomBits and kNan with
// picks of no expert.
Argument ExpertIndices();
std::vector<Data> MoeData();

// The dimensions `held` and `bias`.
std::vector<Dimension> WithHeldAndBias(std::vector<Dimension> dimensions);
// Numbers of the experts' rows, one behind the other; experts farther apart where not all are held.
Argument ExpertBias(const std::string& name, const std::string& rows, int gap);

// The picks of a held expert, counted from the first of those, ascending.
std::vector<std::int64_t> PicksOf(const Call& call, std::int64_t expert);
// Whether the pick is of an expert that is held.
bool IsHeld(const Call& call, std::int64_t pick);
// Whether the pick is of an expert that the layer has.
bool Exists(const Call& call, std::int64_t pick);

// Extents that hip::gfx942::BytesBetween states.
std::vector<std::string> GroupingWords();
std::vector<std::string> MidExtents();
std::vector<std::string> MidCodesExtents();

// Writes what is written of "grouping" (hip/gfx942/moe_arguments.h): the number of groups in 16
// bytes, of which the other 12 are not written; groups of {expert, first, count, 0}; after as many
// of those as there can be, the picks.
void Group(const Call& call);

// Where a quantized row has its column: a step of 128, then lane groups, blocks, and of eight
// columns the even ones first.
std::int64_t RowOffset(std::int64_t column);

// ---- what the references read ----

// A matrix and its codes.
struct OwnedMatrix {
  ElementFormat format;
  Tensor<std::uint8_t, 2> elements, codes;

  reference::MxMatrix view() const { return {format, elements, codes}; }
};

// The bytes of an argument of three extents.
Tensor<std::uint8_t, 3> BytesOf(const Call& call, std::string_view name, int elements_a_byte);
Tensor<std::uint8_t, 3> Zeros(std::int64_t a, std::int64_t b, std::int64_t c);
OwnedMatrix ExpertMatrix(const Tensor<std::uint8_t, 3>& bytes, const Tensor<std::uint8_t, 3>& codes,
                         std::int64_t expert);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_OPS_MOE_OPERANDS_H_

#ifndef LANEWISE_LAYOUTS_ORDER_H_
#define LANEWISE_LAYOUTS_ORDER_H_

// An order is a bijection of 0 .. units - 1, "where the unit that was at `from` goes", written as
// digits of a mixed-radix number: from = sum of d_i from_stride_i, to = sum of d_i to_stride_i, 0
// <= d_i < size_i.
//
// Laws, for orders f and g over the same units and every offset o:
//   Inverse(f).Map(f.Map(o)) == o
//   Compose(f, g).Map(o) == g.Map(f.Map(o))      where Compose succeeds
//   Normalize changes no value of Map

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "layouts/bound_layout.h"

namespace lanewise {

struct OrderDigit {
  std::int64_t size = 0;
  std::int64_t from_stride = 0;
  std::int64_t to_stride = 0;

  friend bool operator==(const OrderDigit&, const OrderDigit&) = default;
};

// The digits of a region, logical array to memory, relative to the region's two bases: digits of
// one value dropped, neighbours on both sides merged, sorted by to_stride, outermost first.
std::vector<OrderDigit> RegionDigits(const Region& region);

class Order {
 public:
  // The order of `units` units that leaves each where it is.
  static Order Identity(std::int64_t units);

  // Row-major logical array to memory. FailedPrecondition for a layout of two regions: its
  // remainder is no digit of one mixed-radix number.
  static absl::StatusOr<Order> OfLayout(const BoundLayout& layout);

  std::int64_t units() const { return units_; }

  // Normalized: RegionDigits' form. Empty for 0 or 1 units.
  const std::vector<OrderDigit>& digits() const { return digits_; }

  // Where the unit at offset `from`, 0 <= from < units(), goes.
  std::int64_t Map(std::int64_t from) const;

  Order Inverse() const;

  // How many neighbouring units stay neighbours, aligned: the widest move that does the whole job.
  // A power of two is not implied.
  std::int64_t ContiguousRun() const;

  friend bool operator==(const Order&, const Order&) = default;

 private:
  friend absl::StatusOr<Order> Compose(const Order& first, const Order& second);

  std::int64_t units_ = 0;
  std::vector<OrderDigit> digits_;
};

// First one, then the other. InvalidArgument where the unit counts differ, or where a digit of one
// straddles digits of the other (such as a 3 against a 2), so that no mixed-radix number serves
// both.
absl::StatusOr<Order> Compose(const Order& first, const Order& second);

// How many logically neighbouring units are neighbours in memory too, in every region of the
// layout: the widest aligned move. 0 for a layout without units.
std::int64_t ContiguousRun(const BoundLayout& layout);

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_ORDER_H_

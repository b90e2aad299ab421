#include "layouts/order.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lanewise {
namespace {

std::vector<OrderDigit> Normalized(std::vector<OrderDigit> digits) {
  std::erase_if(digits, [](const OrderDigit& digit) { return digit.size == 1; });
  std::sort(digits.begin(), digits.end(),
            [](const OrderDigit& a, const OrderDigit& b) { return a.to_stride > b.to_stride; });
  std::vector<OrderDigit> merged;
  for (const OrderDigit& digit : digits) {
    if (!merged.empty() && merged.back().from_stride == digit.from_stride * digit.size &&
        merged.back().to_stride == digit.to_stride * digit.size) {
      merged.back() = {merged.back().size * digit.size, digit.from_stride, digit.to_stride};
    } else {
      merged.push_back(digit);
    }
  }
  return merged;
}

std::int64_t RunOf(const std::vector<OrderDigit>& digits) {
  if (digits.empty()) return 1;
  const OrderDigit& innermost = digits.back();
  return innermost.to_stride == 1 && innermost.from_stride == 1 ? innermost.size : 1;
}

}  // namespace

std::vector<OrderDigit> RegionDigits(const Region& region) {
  std::vector<OrderDigit> digits;
  for (int i = 0; i < region.digits; ++i) {
    const Digit& digit = region.digit[i];
    digits.push_back({digit.size, digit.logical_stride, digit.memory_stride});
  }
  return Normalized(std::move(digits));
}

Order Order::Identity(std::int64_t units) {
  Order order;
  order.units_ = units;
  if (units > 1) order.digits_.push_back({units, 1, 1});
  return order;
}

absl::StatusOr<Order> Order::OfLayout(const BoundLayout& layout) {
  if (layout.regions() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("a layout whose axis ends in a remainder (", layout.region(0).units, " + ",
                     layout.region(1).units, " units) is no single order"));
  }
  Order order;
  order.units_ = layout.units();
  if (layout.regions() == 1) order.digits_ = RegionDigits(layout.region(0));
  return order;
}

std::int64_t Order::Map(std::int64_t from) const {
  std::int64_t to = 0;
  for (const OrderDigit& digit : digits_) {
    to += from / digit.from_stride % digit.size * digit.to_stride;
  }
  return to;
}

Order Order::Inverse() const {
  Order inverse = *this;
  for (OrderDigit& digit : inverse.digits_) std::swap(digit.from_stride, digit.to_stride);
  inverse.digits_ = Normalized(std::move(inverse.digits_));
  return inverse;
}

std::int64_t Order::ContiguousRun() const { return units_ == 0 ? 0 : RunOf(digits_); }

absl::StatusOr<Order> Compose(const Order& first, const Order& second) {
  if (first.units_ != second.units_) {
    return absl::InvalidArgumentError(absl::StrCat("cannot compose an order of ", first.units_,
                                                   " units with one of ", second.units_));
  }
  // Both cut the middle array into digits; walk them from the innermost and cut each where the
  // other does.
  std::vector<OrderDigit> a = first.digits_;
  std::vector<OrderDigit> b = second.digits_;
  std::sort(a.begin(), a.end(),
            [](const OrderDigit& x, const OrderDigit& y) { return x.to_stride < y.to_stride; });
  std::sort(b.begin(), b.end(),
            [](const OrderDigit& x, const OrderDigit& y) { return x.from_stride < y.from_stride; });
  Order result;
  result.units_ = first.units_;
  std::size_t j = 0;
  std::int64_t b_done = 1;  // how much of b[j] has been paired
  for (const OrderDigit& digit : a) {
    std::int64_t a_done = 1;
    while (a_done < digit.size) {
      const std::int64_t a_left = digit.size / a_done;
      const std::int64_t b_left = b[j].size / b_done;
      const std::int64_t both = std::min(a_left, b_left);
      if (a_left % both != 0 || b_left % both != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("cannot compose: at stride ", digit.to_stride * a_done,
                         " of the array between them one order has a digit of ", a_left,
                         " and the other of ", b_left, ", and neither divides the other"));
      }
      result.digits_.push_back({both, digit.from_stride * a_done, b[j].to_stride * b_done});
      a_done *= both;
      b_done *= both;
      if (b_done == b[j].size) {
        ++j;
        b_done = 1;
      }
    }
  }
  result.digits_ = Normalized(std::move(result.digits_));
  return result;
}

std::int64_t ContiguousRun(const BoundLayout& layout) {
  std::int64_t run = 0;
  for (int i = 0; i < layout.regions(); ++i) {
    const Region& region = layout.region(i);
    // A base in the middle of a run would break its alignment.
    run = std::gcd(run, RunOf(RegionDigits(region)));
    run = std::gcd(run, std::gcd(region.logical_base, region.memory_base));
  }
  return run;
}

}  // namespace lanewise

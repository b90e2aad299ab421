#ifndef LANEWISE_FORMATS_EIGEN_H_
#define LANEWISE_FORMATS_EIGEN_H_

// Element formats as scalars of Eigen's matrices and tensors: storage and casts, no arithmetic.
//
//   Eigen::Matrix<E4m3Fn, Eigen::Dynamic, Eigen::Dynamic> m = ...;
//   Eigen::MatrixXd exact = m.cast<double>();
//   auto rounded = exact.cast<Bf16>();      // as FromDouble: nearest, once, Overflow::kNonFinite
//
// Casts go to and from float and double, and between formats.

#include <Eigen/Core>
#include <concepts>

#include "formats/element.h"

namespace Eigen {

template <const lanewise::ElementSpec& kSpec>
struct NumTraits<lanewise::Element<kSpec>> {
  using Real = lanewise::Element<kSpec>;
  using NonInteger = Real;
  using Nested = Real;
  using Literal = Real;

  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = Real::kHasSign,
    RequireInitialization = 0,
    ReadCost = 1,
    AddCost = 1,
    MulCost = 1,
  };

  // The step from 1 to the next larger number.
  static constexpr Real epsilon() {
    return Real::FromFloat(1.0f / static_cast<float>(1 << Real::kMantissaBits));
  }
  static constexpr Real dummy_precision() { return epsilon(); }
  static constexpr Real highest() { return Real::Largest(); }
  static constexpr Real lowest() { return Real::Lowest(); }
  static constexpr Real infinity()
    requires Real::kHasInf
  {
    return Real::Infinity();
  }
  static constexpr Real quiet_NaN()
    requires Real::kHasNan
  {
    return Real::Nan();
  }
  static constexpr int digits() { return Real::kMantissaBits + 1; }
  // Of log10(2) * kMantissaBits, the whole part.
  static constexpr int digits10() { return Real::kMantissaBits * 30103 / 100000; }
};

namespace internal {

template <const lanewise::ElementSpec& kSpec, class To>
  requires std::same_as<To, float> || std::same_as<To, double>
struct cast_impl<lanewise::Element<kSpec>, To> {
  static constexpr To run(const lanewise::Element<kSpec>& from) { return from.ToFloat(); }
};

template <const lanewise::ElementSpec& kSpec>
struct cast_impl<float, lanewise::Element<kSpec>> {
  static constexpr lanewise::Element<kSpec> run(const float& from) {
    return lanewise::Element<kSpec>::FromFloat(from);
  }
};

template <const lanewise::ElementSpec& kSpec>
struct cast_impl<double, lanewise::Element<kSpec>> {
  static constexpr lanewise::Element<kSpec> run(const double& from) {
    return lanewise::Element<kSpec>::FromDouble(from);
  }
};

template <const lanewise::ElementSpec& kFrom, const lanewise::ElementSpec& kTo>
struct cast_impl<lanewise::Element<kFrom>, lanewise::Element<kTo>> {
  static constexpr lanewise::Element<kTo> run(const lanewise::Element<kFrom>& from) {
    return lanewise::Element<kTo>::FromFloat(from.ToFloat());
  }
};

}  // namespace internal
}  // namespace Eigen

#endif  // LANEWISE_FORMATS_EIGEN_H_

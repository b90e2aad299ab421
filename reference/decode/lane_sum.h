#ifndef LANEWISE_REFERENCE_DECODE_LANE_SUM_H_
#define LANEWISE_REFERENCE_DECODE_LANE_SUM_H_

// The sum that a wave's lanes make by adding, for one distance after the other, the value of the
// lane that many away: lane ^ distance. It is the same in every lane, because float32 addition
// commutes. The order of the distances shows in the result.

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace lanewise::reference {

// `lanes` holds one value a lane; their number is a power of two, the product of the distances' 2.
//   LaneSum({a, b, c, d}, {2, 1})    (a + c) + (b + d)
inline float LaneSum(std::vector<float> lanes, std::initializer_list<std::size_t> distances) {
  for (const std::size_t distance : distances) {
    std::vector<float> sums(lanes.size());
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      sums[lane] = lanes[lane] + lanes[lane ^ distance];
    }
    lanes = sums;
  }
  return lanes[0];
}

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_DECODE_LANE_SUM_H_

#include "layouts/fault_text.h"

namespace lanewise {

std::string_view FaultText(PatternFault fault) {
  switch (fault) {
    case PatternFault::kNone:
      return "no fault";
    case PatternFault::kNameExpected:
      return "a name of lower-case letters is expected";
    case PatternFault::kNameTooLong:
      return "a name is longer than 15 letters";
    case PatternFault::kSizeExpected:
      return "a size or a parameter is expected after the colon";
    case PatternFault::kSizeNotPositive:
      return "a size is zero";
    case PatternFault::kSizeTooLarge:
      return "a size is above 2^32";
    case PatternFault::kUnbalancedParenthesis:
      return "a parenthesis is not balanced";
    case PatternFault::kArrowExpected:
      return "an arrow (->) is expected";
    case PatternFault::kFactorNamedTwiceOnTheLeft:
      return "a factor is named twice on the left";
    case PatternFault::kAxisNamedTwice:
      return "an axis is named twice";
    case PatternFault::kFactorOnTheRightIsNotOnTheLeft:
      return "a factor on the right is not on the left";
    case PatternFault::kFactorNamedTwiceOnTheRight:
      return "a factor is named twice on the right";
    case PatternFault::kFactorMissingOnTheRight:
      return "a factor is missing on the right";
    case PatternFault::kOnlyTheOutermostFactorMayBeOpen:
      return "only the outermost factor of an axis may be open";
    case PatternFault::kTooManyAxes:
      return "there are more than 4 axes";
    case PatternFault::kTooManyFactors:
      return "there are more than 12 factors";
    case PatternFault::kLaneSectionExpected:
      return "lanes begin with a section lane(...)";
    case PatternFault::kUnitSectionExpected:
      return "lanes end with a section byte(...) or unit(...)";
    case PatternFault::kTextBehindTheLanes:
      return "lanes have the sections lane(...), load(...) and byte(...), in this order";
    case PatternFault::kNotAFactorOfThePattern:
      return "a name is no factor of the pattern, nor a part of the lane with a size";
    case PatternFault::kTwoPartsWithoutSize:
      return "two parts of a factor have no size";
    case PatternFault::kPartsDoNotDivideTheFactor:
      return "the parts of a factor do not divide its size";
    case PatternFault::kOpenFactorInLaneOrUnit:
      return "an open factor of lane(...) or byte(...) needs a size";
    case PatternFault::kTileInsideALoad:
      return "a factor that no section names lies inside of one that is named";
    case PatternFault::kLoadNotContiguous:
      return "the bytes of a load do not lie together in this order";
  }
  return "an unknown fault";
}

}  // namespace lanewise

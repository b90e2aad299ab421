#ifndef LANEWISE_LAYOUTS_PATTERN_FAULT_H_
#define LANEWISE_LAYOUTS_PATTERN_FAULT_H_

// What can be wrong with a pattern (layouts/pattern.h) or with its lanes (layouts/lanes.h), and how
// a wrong literal becomes a compile error that says so. The words for run time are in bind.h.

namespace lanewise {

enum class PatternFault {
  kNone,
  // the text of either
  kNameExpected,
  kNameTooLong,
  kSizeExpected,
  kSizeNotPositive,
  kSizeTooLarge,
  kUnbalancedParenthesis,
  kTooManyFactors,
  // a pattern
  kArrowExpected,
  kFactorNamedTwiceOnTheLeft,
  kAxisNamedTwice,
  kFactorOnTheRightIsNotOnTheLeft,
  kFactorNamedTwiceOnTheRight,
  kFactorMissingOnTheRight,
  kOnlyTheOutermostFactorMayBeOpen,
  kTooManyAxes,
  // lanes: their text
  kLaneSectionExpected,
  kUnitSectionExpected,
  kTextBehindTheLanes,
  // lanes and the pattern that they read
  kNotAFactorOfThePattern,
  kTwoPartsWithoutSize,
  kPartsDoNotDivideTheFactor,
  kOpenFactorInLaneOrUnit,
  kTileInsideALoad,
  kLoadNotContiguous,
};

namespace internal {

// Never defined and not constexpr: reaching one while a literal is parsed is the compile error.
namespace pattern_error {
void a_name_of_lower_case_letters_is_expected();
void a_name_is_longer_than_15_letters();
void a_size_or_a_parameter_is_expected_after_the_colon();
void a_size_is_zero();
void a_size_is_above_2_to_the_32();
void a_parenthesis_is_not_balanced();
void there_are_more_than_12_factors();
void an_arrow_is_expected();
void a_factor_is_named_twice_on_the_left();
void an_axis_is_named_twice();
void a_factor_on_the_right_is_not_on_the_left();
void a_factor_is_named_twice_on_the_right();
void a_factor_is_missing_on_the_right();
void only_the_outermost_factor_of_an_axis_may_be_open();
void there_are_more_than_4_axes();
void lanes_begin_with_a_section_lane();
void lanes_end_with_a_section_byte_or_unit();
void lanes_have_the_sections_lane_load_and_byte_in_this_order();
void a_name_is_no_factor_of_the_pattern_nor_a_sized_part_of_the_lane();
void two_parts_of_a_factor_have_no_size();
void the_parts_of_a_factor_do_not_divide_its_size();
void an_open_factor_of_lane_or_byte_needs_a_size();
void a_factor_that_no_section_names_lies_inside_of_one_that_is_named();
void the_bytes_of_a_load_do_not_lie_together_in_this_order();
}  // namespace pattern_error

constexpr void ReportFault(PatternFault fault) {
  switch (fault) {
    case PatternFault::kNone:
      return;
    case PatternFault::kNameExpected:
      return pattern_error::a_name_of_lower_case_letters_is_expected();
    case PatternFault::kNameTooLong:
      return pattern_error::a_name_is_longer_than_15_letters();
    case PatternFault::kSizeExpected:
      return pattern_error::a_size_or_a_parameter_is_expected_after_the_colon();
    case PatternFault::kSizeNotPositive:
      return pattern_error::a_size_is_zero();
    case PatternFault::kSizeTooLarge:
      return pattern_error::a_size_is_above_2_to_the_32();
    case PatternFault::kUnbalancedParenthesis:
      return pattern_error::a_parenthesis_is_not_balanced();
    case PatternFault::kTooManyFactors:
      return pattern_error::there_are_more_than_12_factors();
    case PatternFault::kArrowExpected:
      return pattern_error::an_arrow_is_expected();
    case PatternFault::kFactorNamedTwiceOnTheLeft:
      return pattern_error::a_factor_is_named_twice_on_the_left();
    case PatternFault::kAxisNamedTwice:
      return pattern_error::an_axis_is_named_twice();
    case PatternFault::kFactorOnTheRightIsNotOnTheLeft:
      return pattern_error::a_factor_on_the_right_is_not_on_the_left();
    case PatternFault::kFactorNamedTwiceOnTheRight:
      return pattern_error::a_factor_is_named_twice_on_the_right();
    case PatternFault::kFactorMissingOnTheRight:
      return pattern_error::a_factor_is_missing_on_the_right();
    case PatternFault::kOnlyTheOutermostFactorMayBeOpen:
      return pattern_error::only_the_outermost_factor_of_an_axis_may_be_open();
    case PatternFault::kTooManyAxes:
      return pattern_error::there_are_more_than_4_axes();
    case PatternFault::kLaneSectionExpected:
      return pattern_error::lanes_begin_with_a_section_lane();
    case PatternFault::kUnitSectionExpected:
      return pattern_error::lanes_end_with_a_section_byte_or_unit();
    case PatternFault::kTextBehindTheLanes:
      return pattern_error::lanes_have_the_sections_lane_load_and_byte_in_this_order();
    case PatternFault::kNotAFactorOfThePattern:
      return pattern_error::a_name_is_no_factor_of_the_pattern_nor_a_sized_part_of_the_lane();
    case PatternFault::kTwoPartsWithoutSize:
      return pattern_error::two_parts_of_a_factor_have_no_size();
    case PatternFault::kPartsDoNotDivideTheFactor:
      return pattern_error::the_parts_of_a_factor_do_not_divide_its_size();
    case PatternFault::kOpenFactorInLaneOrUnit:
      return pattern_error::an_open_factor_of_lane_or_byte_needs_a_size();
    case PatternFault::kTileInsideALoad:
      return pattern_error::a_factor_that_no_section_names_lies_inside_of_one_that_is_named();
    case PatternFault::kLoadNotContiguous:
      return pattern_error::the_bytes_of_a_load_do_not_lie_together_in_this_order();
  }
}

}  // namespace internal
}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_PATTERN_FAULT_H_

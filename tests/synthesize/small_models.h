#ifndef LANEWISE_TESTS_SYNTHESIZE_SMALL_MODELS_H_
#define LANEWISE_TESTS_SYNTHESIZE_SMALL_MODELS_H_

// The built-in models of `lanewise synthesize`, made small enough for a test.

#include <string>
#include <vector>

namespace lanewise {

// All of them, in alphabetical order.
std::vector<std::string> ModelNames();

// The arguments of `lanewise` that write this model to the directory `out`: one layer of a kind,
// three experts, and sizes that the formats' blocks and FlashMLA's heads divide; a few MB in files
// of one MB, the same bytes each time.
std::vector<std::string> SynthesizeSmall(const std::string& model, const std::string& out);

}  // namespace lanewise

#endif  // LANEWISE_TESTS_SYNTHESIZE_SMALL_MODELS_H_

#ifndef LANEWISE_TESTS_GOLDEN_MANIFEST_H_
#define LANEWISE_TESTS_GOLDEN_MANIFEST_H_

// A set of golden cases: NAME.json, which lists them, beside NAME.safetensors, which holds their
// tensors. README.md gives the form.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/safetensors/safetensors.h"
#include "tests/golden/case.h"

namespace lanewise::golden {

class Manifest {
 public:
  // Reads `json_path` and maps the safetensors file beside it. Refuses, naming the file and the
  // case: what is not JSON of the form, a name that is not .json, and a tensor that the safetensors
  // file does not hold.
  static absl::StatusOr<Manifest> Open(const std::string& json_path);

  // "layouts" of ".../layouts.json".
  const std::string& name() const { return name_; }
  // The cases view the mapped file: they live as long as the manifest.
  const std::vector<Case>& cases() const { return cases_; }

 private:
  Manifest(std::string name, SafetensorsFile tensors, std::vector<Case> cases)
      : name_(std::move(name)), tensors_(std::move(tensors)), cases_(std::move(cases)) {}

  std::string name_;
  SafetensorsFile tensors_;
  std::vector<Case> cases_;
};

}  // namespace lanewise::golden

#endif  // LANEWISE_TESTS_GOLDEN_MANIFEST_H_

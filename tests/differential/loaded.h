#ifndef LANEWISE_TESTS_DIFFERENTIAL_LOADED_H_
#define LANEWISE_TESTS_DIFFERENTIAL_LOADED_H_

#include <map>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "hip/runtime/device.h"

namespace lanewise::differential {

// The launcher of a device, loaded at its first use and kept: T::Load(device).
//
//   absl::StatusOr<const hip::MxQuantize*> quantize = Loaded<hip::MxQuantize>(*call.device);
template <class T>
absl::StatusOr<const T*> Loaded(const hip::Device& device) {
  static auto* const launchers = new std::map<int, std::unique_ptr<const T>>;
  std::unique_ptr<const T>& launcher = (*launchers)[device.index()];
  if (launcher == nullptr) {
    LANEWISE_ASSIGN_OR_RETURN(T loaded, T::Load(device));
    launcher = std::make_unique<const T>(std::move(loaded));
  }
  return launcher.get();
}

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_LOADED_H_

#include "hip/runtime/module.h"

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "hip/runtime/error.h"
#include "hip/runtime/kernel_signature.h"
#include "hip/runtime/ptx_signature.h"

namespace lanewise::hip {
namespace {

std::string_view Text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

absl::StatusOr<Module> Module::Load(std::span<const EmbeddedCodeObject> objects,
                                    const Device& device) {
  const EmbeddedCodeObject* chosen = nullptr;
  std::string archs;
  for (const EmbeddedCodeObject& object : objects) {
    if (device.Runs(object.arch)) chosen = &object;
    absl::StrAppend(&archs, archs.empty() ? "" : ", ", AbslView(object.arch));
  }
  if (chosen == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("no code object for ", device.arch(), "; there are: ", archs));
  }
  if (absl::Status status = device.MakeCurrent(); !status.ok()) return status;
  auto signatures = ReadKernelSignatures(chosen->bytes);
  if (!signatures.ok()) return signatures.status();
  // PTX is read up to a zero.
  std::string ptx;
  const void* image = chosen->bytes.data();
  if (IsPtx(Text(chosen->bytes))) {
    ptx = Text(chosen->bytes);
    image = ptx.c_str();
  }
  hipModule_t handle = nullptr;
  if (absl::Status status = ToStatus(
          hipModuleLoadData(&handle, image),
          absl::StrCat("loading ", AbslView(chosen->name), " for ", AbslView(chosen->arch)));
      !status.ok()) {
    return status;
  }
  Module module(handle);
  module.signatures_ = *std::move(signatures);
  return module;
}

Module::~Module() {
  if (module_ != nullptr) (void)hipModuleUnload(module_);
}

absl::StatusOr<Kernel> Module::Find(std::string_view name) const {
  const auto signature = signatures_.find(std::string(name));
  if (signature == signatures_.end()) {
    std::string names;
    for (const auto& [each, sizes] : signatures_) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", each);
    }
    return absl::NotFoundError(absl::StrCat("no kernel ", AbslView(name), "; there are: ", names));
  }
  hipFunction_t function = nullptr;
  if (absl::Status status =
          ToStatus(hipModuleGetFunction(&function, module_, signature->first.c_str()),
                   absl::StrCat("finding kernel ", AbslView(name)));
      !status.ok()) {
    return status;
  }
  return Kernel(function, signature->first, signature->second);
}

absl::Status Kernel::LaunchPacked(const LaunchShape& shape, const Stream& stream,
                                  std::vector<Bytes> arguments) const {
  if (arguments.size() != sizes_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("launching ", name_, ": ", arguments.size(),
                                                   " arguments, it takes ", sizes_.size()));
  }
  std::vector<void*> pointers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (static_cast<int64_t>(arguments[i].size()) != sizes_[i]) {
      return absl::InvalidArgumentError(absl::StrCat("launching ", name_, ": argument ", i, " has ",
                                                     arguments[i].size(), " bytes, it takes ",
                                                     sizes_[i]));
    }
    pointers.push_back(arguments[i].data());
  }
  return ToStatus(
      hipModuleLaunchKernel(function_, shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x,
                            shape.block.y, shape.block.z, shape.dynamic_lds, stream.handle(),
                            pointers.data(), nullptr),
      absl::StrCat("launching ", name_));
}

}  // namespace lanewise::hip

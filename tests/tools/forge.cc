#include "tests/tools/forge.h"

#include <utility>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "checkpoint/prepared.h"

namespace lanewise {

absl::Status Forge(const std::string& prepared, const std::string& out,
                   const std::function<void(ForgedTensor&)>& change) {
  LANEWISE_ASSIGN_OR_RETURN(const PreparedCheckpoint opened,
                            PreparedCheckpoint::Open(prepared, ""));
  PreparedWriter::About about = {opened.target(), opened.recipe(), opened.sources(), {}};
  for (const auto& [key, value] : opened.set().shards()[0].file.metadata()) {
    if (!key.starts_with("lanewise.") || key.starts_with("lanewise.x.")) about.more[key] = value;
  }
  std::vector<PreparedTensorPlan> plans;
  std::vector<std::vector<std::uint8_t>> all_bytes;
  for (const TensorSet::Tensor& tensor : opened.set().tensors()) {
    const auto bytes = opened.set().Bytes(tensor);
    ForgedTensor forged = {{*tensor.info, *opened.Describe(tensor.name()), {}},
                           {bytes.begin(), bytes.end()}};
    forged.plan.what.xxh3.clear();
    change(forged);
    if (forged.drop) continue;
    plans.push_back(std::move(forged.plan));
    all_bytes.push_back(std::move(forged.bytes));
  }
  LANEWISE_ASSIGN_OR_RETURN(PreparedWriter writer,
                            PreparedWriter::Create(out, about, std::move(plans)));
  for (std::size_t i = 0; i < all_bytes.size(); ++i) {
    LANEWISE_RETURN_IF_ERROR(writer.Write(i, 0, all_bytes[i]));
  }
  return writer.Finish();
}

}  // namespace lanewise

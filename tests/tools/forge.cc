#include "tests/tools/forge.h"

#include <utility>

#include "absl/status/statusor.h"
#include "checkpoint/prepared.h"

namespace lanewise {

absl::Status Forge(const std::string& prepared, const std::string& out,
                   const std::function<void(ForgedTensor&)>& change) {
  const absl::StatusOr<PreparedCheckpoint> opened = PreparedCheckpoint::Open(prepared, "");
  if (!opened.ok()) return opened.status();
  PreparedWriter::About about = {opened->target(), opened->recipe(), opened->sources(), {}};
  for (const auto& [key, value] : opened->set().shards()[0].file.metadata()) {
    if (!key.starts_with("lanewise.") || key.starts_with("lanewise.x.")) about.more[key] = value;
  }
  std::vector<PreparedTensorPlan> plans;
  std::vector<std::vector<std::uint8_t>> all_bytes;
  for (const TensorSet::Tensor& tensor : opened->set().tensors()) {
    const auto bytes = opened->set().Bytes(tensor);
    ForgedTensor forged = {{*tensor.info, *opened->Describe(tensor.name()), {}},
                           {bytes.begin(), bytes.end()}};
    forged.plan.what.xxh3.clear();
    change(forged);
    if (forged.drop) continue;
    plans.push_back(std::move(forged.plan));
    all_bytes.push_back(std::move(forged.bytes));
  }
  absl::StatusOr<PreparedWriter> writer = PreparedWriter::Create(out, about, std::move(plans));
  if (!writer.ok()) return writer.status();
  for (std::size_t i = 0; i < all_bytes.size(); ++i) {
    if (absl::Status status = writer->Write(i, 0, all_bytes[i]); !status.ok()) return status;
  }
  return writer->Finish();
}

}  // namespace lanewise

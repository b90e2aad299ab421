#include "tests/differential/prepared.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "base/status.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "tests/differential/expression.h"
#include "weights/zero_signs.h"

namespace lanewise::differential {

void FillOutputs(const Call& call) {
  for (const Operand& operand : call.operands) {
    if (operand.argument->role != Role::kOutput || operand.bytes == 0) continue;
    std::memset(operand.data, kLeftByte, static_cast<std::size_t>(operand.bytes));
  }
}

absl::Status RunAndRestore(const Call& call, std::initializer_list<std::string_view> sources,
                           std::initializer_list<Prepared> plans,
                           std::initializer_list<std::string_view> again) {
  const bool one = call["threads"] == 1;
  const RunOptions options = {
      .threads = one ? 1 : 3,
      .stores = one ? PackOptions::Stores::kCached : PackOptions::Stores::kStreaming};
  Sources from;
  for (const std::string_view name : sources) from.push_back(call.Bytes(name));
  Sinks back;
  for (const std::string_view name : again) back.push_back(call.Bytes(name));
  const auto memory = [&](const Prepared& prepared) -> absl::StatusOr<std::span<std::uint8_t>> {
    const std::span<std::uint8_t> out = call.Bytes(prepared.out);
    const auto bytes = static_cast<std::size_t>(prepared.plan->bytes());
    if (bytes > out.size()) {
      return Internal(prepared.out, " is ", out.size(), " bytes, the plan fills ", bytes);
    }
    return out.first(bytes);
  };
  for (const Prepared& prepared : plans) {
    LANEWISE_ASSIGN_OR_RETURN(const auto to, memory(prepared));
    LANEWISE_RETURN_IF_ERROR(RunPlan(*prepared.plan, from, options, to).status());
  }
  for (const Prepared& prepared : plans) {
    const auto to = memory(prepared);
    absl::Status status = RestorePlan(*prepared.plan, *to, options.threads, back);
    if (status.ok()) {
      status = ApplyZeroSigns(*prepared.plan, ZeroSigns(*prepared.plan, from), back);
    }
    if (!status.ok()) {
      return Internal("restoring ", prepared.out, ": ", std::string(status.message()));
    }
  }
  return absl::OkStatus();
}

void CopyPart(const Call& call, std::string_view from, std::string_view to, std::int64_t row_bytes,
              std::int64_t row0, std::int64_t rows, std::int64_t byte0, std::int64_t bytes) {
  const std::span<std::uint8_t> source = call.Bytes(from), sink = call.Bytes(to);
  for (std::int64_t row = row0; row < row0 + rows; ++row) {
    std::copy_n(source.begin() + row * row_bytes + byte0, bytes,
                sink.begin() + row * row_bytes + byte0);
  }
}

std::function<absl::StatusOr<LayoutView>(const Shape&)> InLayout(std::string tag, std::string rows,
                                                                 std::string columns,
                                                                 std::string parameter) {
  return [=](const Shape& shape) -> absl::StatusOr<LayoutView> {
    const Layout* const layout = FindLayout(tag);
    if (layout == nullptr) return NotFound("no layout ", tag);
    std::array<std::int64_t, 3> sizes;
    const std::array<const std::string*, 3> texts = {&rows, &columns, &parameter};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      LANEWISE_ASSIGN_OR_RETURN(const auto size, Evaluate(*texts[i], [&](std::string_view name) {
                                  return shape.Find(name);
                                }));
      sizes[i] = size;
    }
    Layout sized = *layout;
    for (int i = 0; i < layout->main.factors; ++i) {
      const auto& name = layout->main.factor[i].parameter;
      if (!name.empty()) sized = layout->WithParameter(name.view(), sizes[2]);
    }
    LANEWISE_ASSIGN_OR_RETURN(BoundLayout bound, Bind(sized, std::span(sizes).first(2)));
    LayoutView view;
    view.bound = bound;
    for (int axis = 0; axis < layout->main.axes; ++axis) {
      view.axes.emplace_back(layout->main.axis_name[axis].view());
    }
    return view;
  };
}

}  // namespace lanewise::differential

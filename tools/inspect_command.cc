#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "checkpoint/rank_paths.h"
#include "nlohmann/json.hpp"
#include "tools/command.h"
#include "tools/inspect/inspect.h"

namespace lanewise::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string path;
  bool json = false;
  bool no_values = false;
  int threads = 0;
};

// Text out of a file, fit for a terminal: control characters would act on it.
std::string Printable(std::string_view text) {
  std::string printable;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 .. U+009F, control characters too, are C2 80 .. C2 9F.
    const bool is_c1 =
        byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F) {
      absl::StrAppend(&printable, absl::StrFormat("\\x%02X", byte));
    } else if (is_c1) {
      absl::StrAppend(&printable,
                      absl::StrFormat("\\u%04X", static_cast<unsigned char>(text[++i])));
    } else {
      printable += text[i];
    }
  }
  return printable;
}

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", extent);
  }
  return absl::StrCat("[", text, "]");
}

std::string CountsText(DType elements, const ElementCounts& counts) {
  std::string text;
  const auto add = [&](const std::string& piece) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", piece);
  };
  if (counts.least_code) {
    add(absl::StrCat("codes ", *counts.least_code, " .. ", *counts.greatest_code));
  }
  if (counts.nan_codes > 0) add(absl::StrCat(counts.nan_codes, " codes 255 (NaN)"));
  // What does not occur is worth a word of quantized elements only.
  const bool quantized = BitsPerElement(elements) <= 8 && elements != DType::kF8E8m0;
  if (quantized || counts.nans > 0) add(absl::StrCat(counts.nans, " NaN"));
  if (counts.infs > 0) add(absl::StrCat(counts.infs, " Inf"));
  if (quantized || counts.negative_zeros > 0) add(absl::StrCat(counts.negative_zeros, " -0"));
  return text;
}

void PrintTensor(const InspectedTensor& tensor) {
  const std::string stored(DTypeName(tensor.stored.dtype));
  const std::string elements(DTypeName(tensor.elements));
  std::printf("  %-16s %-20s %12s  %s\n",
              (elements == stored ? stored : absl::StrCat(stored, " = ", elements)).c_str(),
              ShapeText(tensor.stored.shape).c_str(), SizeText(tensor.bytes).c_str(),
              Printable(tensor.stored.name).c_str());
  if (tensor.prepared && tensor.prepared->layout != layout_tag::kPlain) {
    std::string params;
    for (const auto& [name, value] : tensor.prepared->params) {
      const auto* number = std::get_if<std::int64_t>(&value);
      absl::StrAppend(
          &params, ", ", Printable(name), " ",
          number != nullptr ? absl::StrCat(*number) : Printable(std::get<std::string>(value)));
    }
    std::printf("    %s of logical %s%s\n", Printable(tensor.prepared->layout).c_str(),
                ShapeText(tensor.prepared->shape).c_str(), params.c_str());
  }
  if (!tensor.counts) return;
  if (const std::string text = CountsText(tensor.elements, *tensor.counts); !text.empty()) {
    std::printf("    %s\n", text.c_str());
  }
}

void Print(const Inspection& inspection) {
  for (const std::string& note : inspection.notes) {
    std::printf("note: %s\n", Printable(note).c_str());
  }
  if (!inspection.target.empty()) {
    std::printf("prepared for %s by recipe %s", Printable(inspection.target).c_str(),
                Printable(inspection.recipe).c_str());
    for (const PreparedSource& source : inspection.sources) {
      std::printf("\n  from %s, %s, xxh3 %s", Printable(source.file).c_str(),
                  SizeText(source.size).c_str(), source.xxh3.c_str());
    }
    std::printf("\n");
  } else if (!inspection.recipe.empty()) {
    std::printf("recipe %s\n", inspection.recipe.c_str());
  }
  std::int64_t bytes = 0;
  std::string file;
  for (const InspectedTensor& tensor : inspection.tensors) {
    if (tensor.file != file) {
      file = tensor.file;
      std::printf("%s\n", Printable(file).c_str());
    }
    PrintTensor(tensor);
    bytes += tensor.bytes;
  }
  std::printf("%lld tensors, %s\n", static_cast<long long>(inspection.tensors.size()),
              SizeText(bytes).c_str());
}

Json CountsJson(const InspectedTensor& tensor) {
  const ElementCounts& counts = *tensor.counts;
  if (tensor.elements == DType::kF8E8m0) {
    Json codes = {{"nan", counts.nan_codes}, {"min", nullptr}, {"max", nullptr}};
    if (counts.least_code) codes["min"] = *counts.least_code;
    if (counts.greatest_code) codes["max"] = *counts.greatest_code;
    return {{"codes", std::move(codes)}};
  }
  return {{"nan", counts.nans}, {"inf", counts.infs}, {"negative_zero", counts.negative_zeros}};
}

Json InspectionJson(const Inspection& inspection) {
  Json tensors = Json::array();
  for (const InspectedTensor& tensor : inspection.tensors) {
    Json one = {{"name", tensor.stored.name},
                {"file", tensor.file},
                {"dtype", std::string(DTypeName(tensor.stored.dtype))},
                {"shape", tensor.stored.shape},
                {"bytes", tensor.bytes},
                {"elements", std::string(DTypeName(tensor.elements))}};
    if (tensor.prepared) {
      const PreparedTensor& what = *tensor.prepared;
      Json params = Json::object();
      for (const auto& [name, value] : what.params) {
        std::visit([&, &name = name](const auto& v) { params[name] = v; }, value);
      }
      one["layout"] = what.layout;
      one["logical"] = {{"dtype", std::string(DTypeName(what.dtype))}, {"shape", what.shape}};
      one["from"] = what.from;
      one["params"] = std::move(params);
      one["xxh3"] = what.xxh3;
    }
    if (tensor.counts) one["counts"] = CountsJson(tensor);
    tensors.push_back(std::move(one));
  }
  Json all = {{"recipe", inspection.recipe}, {"notes", inspection.notes}};
  if (!inspection.target.empty()) {
    all["target"] = inspection.target;
    all["sources"] = Json::array();
    for (const PreparedSource& source : inspection.sources) {
      all["sources"].push_back(
          {{"file", source.file}, {"size", source.size}, {"xxh3", source.xxh3}});
    }
  }
  all["tensors"] = std::move(tensors);
  return all;
}

absl::Status RunInspect(const Options& options) {
  const std::vector<std::string> paths = RankPaths(UserPath(options.path));
  Json ranks = Json::array();
  for (const std::string& path : paths) {
    const absl::StatusOr<Inspection> inspection =
        Inspect(path, !options.no_values, options.threads);
    if (!inspection.ok()) return inspection.status();
    if (options.json) {
      ranks.push_back(InspectionJson(*inspection));
    } else {
      if (paths.size() > 1) std::printf("%s\n", path.c_str());
      Print(*inspection);
    }
  }
  if (!options.json) return absl::OkStatus();
  const Json all = paths.size() > 1 ? Json{{"ranks", std::move(ranks)}} : std::move(ranks[0]);
  std::printf("%s\n", all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  return absl::OkStatus();
}

}  // namespace

Action AddInspect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option(
         "FILE", options->path,
         "A safetensors file, an index or a directory, of a source or a prepared checkpoint; a "
         "directory of rank-0, rank-1, ... shows each")
      ->required();
  app.add_flag("--json", options->json, "Print JSON, for other programs");
  app.add_flag("--no-values", options->no_values,
               "Read the headers alone: do not count NaN, -0 and scale codes");
  app.add_option("--threads", options->threads, "Threads; 0, the default, takes all processors")
      ->check(CLI::NonNegativeNumber);
  return [options] { return RunInspect(*options); };
}

}  // namespace lanewise::tools

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/option_values.h"
#include "checkpoint/restore/rank_paths.h"
#include "nlohmann/json.hpp"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/inspect/inspect.h"
#include "tools/json_report.h"
#include "tools/options.h"

namespace lanewise::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string path;
  bool json = false;
  bool no_values = false;
  int threads = 0;
};

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
  PrintLine(absl::StrFormat(
      "  %-16s %-20s %12s  %s", elements == stored ? stored : absl::StrCat(stored, " = ", elements),
      ShapeText(tensor.stored.shape), SizeText(tensor.bytes), tensor.stored.name));
  if (tensor.prepared && tensor.prepared->layout != layout_tag::kPlain) {
    std::string params;
    for (const auto& [name, value] : tensor.prepared->params) {
      const auto* number = std::get_if<std::int64_t>(&value);
      absl::StrAppend(&params, ", ", name, " ",
                      number != nullptr ? absl::StrCat(*number) : std::get<std::string>(value));
    }
    PrintLine(absl::StrCat("    ", tensor.prepared->layout, " of logical ",
                           ShapeText(tensor.prepared->shape), params));
  }
  if (!tensor.counts) return;
  if (const std::string text = CountsText(tensor.elements, *tensor.counts); !text.empty()) {
    PrintLine("    " + text);
  }
}

void Print(const Inspection& inspection) {
  for (const std::string& note : inspection.notes) PrintLine("note: " + note);
  if (!inspection.target.empty()) {
    PrintLine(absl::StrCat("prepared for ", inspection.target, " by recipe ", inspection.recipe));
    for (const PreparedSource& source : inspection.sources) {
      PrintLine(absl::StrCat("  from ", source.file, ", ", SizeText(source.size), ", xxh3 ",
                             source.xxh3));
    }
  } else if (!inspection.recipe.empty()) {
    PrintLine("recipe " + inspection.recipe);
  }
  std::int64_t bytes = 0;
  std::string file;
  for (const InspectedTensor& tensor : inspection.tensors) {
    if (tensor.file != file) {
      file = tensor.file;
      PrintLine(file);
    }
    PrintTensor(tensor);
    bytes += tensor.bytes;
  }
  PrintLine(
      absl::StrCat(CountText(std::ssize(inspection.tensors), "tensor"), ", ", SizeText(bytes)));
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

absl::Status RunInspect(const Options& options, JsonReport* json) {
  const std::vector<std::string> paths = RankPaths(UserPath(options.path));
  Json ranks = Json::array();
  for (const std::string& path : paths) {
    const absl::StatusOr<Inspection> inspection =
        Inspect(path, !options.no_values, options.threads);
    if (!inspection.ok()) return inspection.status();
    if (json->wanted()) {
      ranks.push_back(InspectionJson(*inspection));
    } else {
      if (paths.size() > 1) PrintLine(path);
      Print(*inspection);
    }
  }
  if (!json->wanted()) return absl::OkStatus();
  if (paths.size() > 1) {
    (*json)["ranks"] = std::move(ranks);
  } else {
    for (auto& [field, value] : ranks[0].items()) (*json)[field.c_str()] = std::move(value);
  }
  return absl::OkStatus();
}

}  // namespace

Action AddInspect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option(
         "FILE", options->path,
         "A safetensors file, an index or a directory, of a source or a prepared checkpoint; a "
         "directory of rank-0, rank-1, ... shows each")
      ->required()
      ->check(NotEmpty());
  app.add_flag("--no-values", options->no_values,
               "Read the headers alone: do not count NaN, -0 and scale codes");
  AddThreads(app, &options->threads);
  AddJson(app, &options->json);
  return [options] {
    JsonReport json("inspect", options->json);
    return json.End(RunInspect(*options, &json));
  };
}

}  // namespace lanewise::tools

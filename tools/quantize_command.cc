#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/quantize.h"
#include "tools/command.h"
#include "tools/json_report.h"
#include "weights/quantize.h"

namespace lanewise::tools {
namespace {

// What every command that rewrites a checkpoint is told.
struct RewriteFlags {
  std::string in, out;
  OutputRules rules;
  std::int64_t memory = kDefaultMemory;
  int threads = 0;
  bool json = false;
};

void AddRewrite(CLI::App& app, RewriteFlags* flags) {
  AddRules(app, &flags->rules);
  AddMemory(app, &flags->memory);
  AddThreads(app, &flags->threads);
  AddJson(app, &flags->json);
}

struct QuantizeFlags {
  RewriteFlags rewrite;
  std::string format = "mxfp8";
  std::string rule = "exact";
  std::string scales = "row";
  float maximum = 0;
  float amax_floor = 0x1p-126f;
  int smallest_code = 0;
  bool saturate = false;
  std::vector<std::string> only, except;
};

QuantizeRequest RequestOf(const QuantizeFlags& flags) {
  QuantizeRequest request;
  request.in = UserPath(flags.rewrite.in);
  request.out = UserPath(flags.rewrite.out);
  request.options = DefaultMxOptions(flags.format == "mxfp4"        ? MxFormat::kE2m1
                                     : flags.format == "mxfp8-fnuz" ? MxFormat::kE4m3Fnuz
                                                                    : MxFormat::kE4m3Fn);
  for (const MxRule rule : kMxRules) {
    if (MxRuleName(rule) == flags.rule) request.options.rule = rule;
  }
  if (flags.maximum != 0) request.options.maximum = flags.maximum;
  request.options.amax_floor = flags.amax_floor;
  request.options.smallest_code = flags.smallest_code;
  if (flags.saturate) request.options.non_finite = MxNonFinite::kSaturate;
  if (flags.scales == "block") request.options.code_rows = kMxBlock;
  if (!flags.only.empty()) request.only = flags.only;
  if (!flags.except.empty()) request.except = flags.except;
  request.rules = flags.rewrite.rules;
  request.memory = flags.rewrite.memory;
  request.threads = flags.rewrite.threads;
  request.cancel = Interrupted();
  return request;
}

// The recipe that reads the result, whatever the model's other tensors look like; "" if none does.
std::string RecipeFor(const QuantizeReport& report, const MxOptions& options) {
  if (report.strange_names == report.quantized) return "";
  if (options.format == MxFormat::kE4m3Fn) return "generic-mxfp8";
  return options.format == MxFormat::kE2m1 ? "generic-mxfp4" : "";
}

void Fill(const QuantizeReport& report, const QuantizeRequest& request, JsonReport* json) {
  (*json)["out"] = request.out;
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  for (const QuantizeError& tensor : report.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"elements", tensor.elements},
                       {"largest_error", tensor.largest},
                       {"relative_rms", tensor.relative_rms},
                       {"zeroed", tensor.zeroed},
                       {"nan_blocks", tensor.nan_blocks}});
  }
  (*json)["tensors"] = std::move(tensors);
  (*json)["left"] = report.left;
  (*json)["copied"] = report.copied;
  (*json)["relative_rms"] = report.relative_rms;
  (*json)["source_bytes"] = report.source_bytes;
  (*json)["bytes"] = report.bytes;
  (*json)["recipe"] = RecipeFor(report, request.options);
  (*json)["names_without_recipe"] = report.strange_names;
  (*json)["files"] = FilesJson(report.files);
}

absl::Status RunQuantize(const QuantizeFlags& flags, JsonReport* json) {
  const QuantizeRequest request = RequestOf(flags);
  const absl::StatusOr<QuantizeReport> report =
      QuantizeCheckpoint(request, ProgressBar("quantize"));
  if (!report.ok()) return report.status();
  if (json->wanted()) {
    Fill(*report, request, json);
    return absl::OkStatus();
  }
  std::printf("%-48s %12s %12s %12s %10s %10s\n", "tensor", "elements", "largest", "rel. rms",
              "zeroed", "NaN blocks");
  for (const QuantizeError& tensor : report->tensors) {
    std::printf("%-48s %12lld %12.4g %12.4g %10lld %10lld\n", Printable(tensor.name).c_str(),
                static_cast<long long>(tensor.elements), tensor.largest, tensor.relative_rms,
                static_cast<long long>(tensor.zeroed), static_cast<long long>(tensor.nan_blocks));
  }
  for (const std::string& left : report->left) {
    std::printf("left as it is: %s\n", Printable(left).c_str());
  }
  std::printf("%s: %zu tensors quantized, relative rms error %.4g, %lld copied; %s from %s%s\n",
              request.out.c_str(), report->tensors.size(), report->relative_rms,
              static_cast<long long>(report->copied), SizeText(report->bytes).c_str(),
              SizeText(report->source_bytes).c_str(), FatesText(report->files).c_str());
  if (const std::string recipe = RecipeFor(*report, request.options); !recipe.empty()) {
    std::printf("prepare reads it with --recipe %s\n", recipe.c_str());
  }
  if (report->strange_names > 0) {
    std::printf(
        "%lld of the names do not end in .weight: prepare copies those tensors, unless a recipe of "
        "your own names them (--recipe FILE)\n",
        static_cast<long long>(report->strange_names));
  }
  return absl::OkStatus();
}

struct DequantizeFlags {
  RewriteFlags rewrite;
  std::string to = "bf16";
};

absl::Status RunDequantize(const DequantizeFlags& flags, JsonReport* json) {
  const RewriteFlags& rewrite = flags.rewrite;
  const DequantizeRequest request = {{UserPath(rewrite.in), UserPath(rewrite.out), rewrite.rules,
                                      rewrite.threads, rewrite.memory, Interrupted()},
                                     flags.to == "f32"};
  const absl::StatusOr<DequantizeReport> report =
      DequantizeCheckpoint(request, ProgressBar("dequantize"));
  if (!report.ok()) return report.status();
  if (json->wanted()) {
    (*json)["out"] = request.out;
    (*json)["dequantized"] = report->dequantized;
    (*json)["copied"] = report->copied;
    (*json)["left"] = report->left;
    (*json)["source_bytes"] = report->source_bytes;
    (*json)["bytes"] = report->bytes;
    (*json)["files"] = FilesJson(report->files);
    return absl::OkStatus();
  }
  for (const std::string& left : report->left) {
    std::printf("left as it is, no codes beside it: %s\n", Printable(left).c_str());
  }
  std::printf("%s: %lld tensors dequantized, %lld copied; %s from %s%s\n", request.out.c_str(),
              static_cast<long long>(report->dequantized), static_cast<long long>(report->copied),
              SizeText(report->bytes).c_str(), SizeText(report->source_bytes).c_str(),
              FatesText(report->files).c_str());
  return absl::OkStatus();
}

}  // namespace

Action AddQuantize(CLI::App& app) {
  auto flags = std::make_shared<QuantizeFlags>();
  app.add_option("IN", flags->rewrite.in,
                 "A float checkpoint: a safetensors file, an index or a directory")
      ->required()
      ->check(NotEmpty());
  app.add_option("OUT", flags->rewrite.out, "A file if IN is one, else a directory")
      ->required()
      ->check(NotEmpty());
  app.add_option("--format", flags->format,
                 "mxfp8 (e4m3fn, the default), mxfp8-fnuz (e4m3fnuz) or mxfp4 (e2m1)")
      ->check(CLI::IsMember({"mxfp8", "mxfp8-fnuz", "mxfp4"}));
  std::vector<std::string> rules;
  for (const MxRule rule : kMxRules) rules.emplace_back(MxRuleName(rule));
  app.add_option("--rule", flags->rule,
                 "How a block's code follows from its largest magnitude; docs/numerics.md")
      ->check(CLI::IsMember(rules));
  app.add_option("--scales", flags->scales,
                 "One code for a row's 32 values (row) or for 32 x 32 (block, as gfx942 wants)")
      ->check(CLI::IsMember({"row", "block"}));
  app.add_option("--max", flags->maximum, "The magnitude blocks are scaled to; 0: the format's")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--amax-floor", flags->amax_floor,
                 "Smaller blocks are scaled as if they reached it")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--smallest-code", flags->smallest_code, "0 or 1")->check(CLI::Range(0, 1));
  app.add_flag("--saturate", flags->saturate,
               "Infinities become the largest value, instead of NaN blocks");
  app.add_option("--only", flags->only,
                 "Names to quantize, as shell patterns; by default *.weight");
  app.add_option("--except", flags->except,
                 "Names not to; by default embeddings, norms, heads and routers");
  AddRewrite(app, &flags->rewrite);
  return [flags] {
    JsonReport json("quantize", flags->rewrite.json);
    return json.End(RunQuantize(*flags, &json));
  };
}

Action AddDequantize(CLI::App& app) {
  auto flags = std::make_shared<DequantizeFlags>();
  app.add_option("IN", flags->rewrite.in, "An MXFP8 or MXFP4 checkpoint with E8M0 codes")
      ->required()
      ->check(NotEmpty());
  app.add_option("OUT", flags->rewrite.out, "A file if IN is one, else a directory")
      ->required()
      ->check(NotEmpty());
  app.add_option("--to", flags->to, "bf16 (the default) or f32")
      ->check(CLI::IsMember({"bf16", "f32"}));
  AddRewrite(app, &flags->rewrite);
  return [flags] {
    JsonReport json("dequantize", flags->rewrite.json);
    return json.End(RunDequantize(*flags, &json));
  };
}

}  // namespace lanewise::tools

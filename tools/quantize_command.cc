#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/option_values.h"
#include "base/text.h"
#include "checkpoint/rewrite/quantize.h"
#include "formats/formats.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/json_report.h"
#include "tools/options.h"
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

struct Format {
  std::string_view name;
  ElementFormat format;
  float least, largest;  // positive magnitudes
};
template <typename T>
constexpr Format FormatOf(std::string_view name, ElementFormat format) {
  return {name, format, T::FromBits(1).ToFloat(), T::Largest().ToFloat()};
}
constexpr Format kFormats[] = {FormatOf<E4m3Fn>("mxfp8", ElementFormat::kE4m3Fn),
                               FormatOf<E4m3Fnuz>("mxfp8-fnuz", ElementFormat::kE4m3Fnuz),
                               FormatOf<E2m1>("mxfp4", ElementFormat::kE2m1)};

const Format& FormatNamed(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return format;
  }
  return kFormats[0];  // no other name is parsed
}

QuantizeRequest RequestOf(const QuantizeFlags& flags) {
  QuantizeRequest request;
  request.in = UserPath(flags.rewrite.in);
  request.out = UserPath(flags.rewrite.out);
  request.options = DefaultMxOptions(FormatNamed(flags.format).format);
  for (const BlockRule rule : kBlockRules) {
    if (BlockRuleName(rule) == flags.rule) request.options.rule = rule;
  }
  if (flags.maximum != 0) request.options.maximum = flags.maximum;
  request.options.amax_floor = flags.amax_floor;
  request.options.smallest_code = flags.smallest_code;
  if (flags.saturate) request.options.non_finite = NonFinite::kSaturate;
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
  if (options.format == ElementFormat::kE4m3Fn) return "generic-mxfp8";
  return options.format == ElementFormat::kE2m1 ? "generic-mxfp4" : "";
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

// A quantized tensor whose every value became zero is no weight any more.
void NoteWhatIsLost(const QuantizeReport& report) {
  const auto lost = std::count_if(
      report.tensors.begin(), report.tensors.end(),
      [](const QuantizeError& tensor) { return tensor.zeroed > 0 && tensor.relative_rms == 1; });
  if (lost == 0) return;
  PrintNote(
      "quantize",
      absl::StrCat("of ", CountText(std::ssize(report.tensors), "quantized tensor"), " ", lost,
                   " lost every value: all became 0 (--max, --amax-floor and --rule "
                   "say to what blocks are scaled)"));
}

absl::Status RunQuantize(const QuantizeFlags& flags, JsonReport* json) {
  const QuantizeRequest request = RequestOf(flags);
  const absl::StatusOr<QuantizeReport> report =
      QuantizeCheckpoint(request, ProgressBar("quantize"));
  if (!report.ok()) return report.status();
  NoteWhatIsLost(*report);
  if (json->wanted()) {
    Fill(*report, request, json);
    return absl::OkStatus();
  }
  PrintLine(absl::StrFormat("%-48s %12s %12s %12s %10s %10s", "tensor", "elements", "largest",
                            "rel. rms", "zeroed", "NaN blocks"));
  for (const QuantizeError& tensor : report->tensors) {
    PrintLine(absl::StrFormat("%-48s %12d %12.4g %12.4g %10d %10d", tensor.name, tensor.elements,
                              tensor.largest, tensor.relative_rms, tensor.zeroed,
                              tensor.nan_blocks));
  }
  for (const std::string& left : report->left) PrintLine("left as it is: " + left);
  PrintLine(absl::StrFormat("%s: %s quantized, relative rms error %.4g, %d copied; %s from %s%s",
                            request.out, CountText(std::ssize(report->tensors), "tensor"),
                            report->relative_rms, report->copied, SizeText(report->bytes),
                            SizeText(report->source_bytes), FatesText(report->files)));
  if (const std::string recipe = RecipeFor(*report, request.options); !recipe.empty()) {
    PrintLine("prepare reads it with --recipe " + recipe);
  }
  if (report->strange_names > 0) {
    PrintLine(absl::StrCat("names that do not end in .weight: ", report->strange_names,
                           "; prepare copies those tensors, unless a recipe of your own names them "
                           "(--recipe FILE)"));
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
    PrintLine("left as it is, no codes beside it: " + left);
  }
  PrintLine(absl::StrCat(request.out, ": ", CountText(report->dequantized, "tensor"),
                         " dequantized, ", report->copied, " copied; ", SizeText(report->bytes),
                         " from ", SizeText(report->source_bytes), FatesText(report->files)));
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
      ->type_name("FORMAT")
      ->check(OneOf({"mxfp8", "mxfp8-fnuz", "mxfp4"}));
  std::vector<std::string> rules;
  for (const BlockRule rule : kBlockRules) rules.emplace_back(BlockRuleName(rule));
  app.add_option("--rule", flags->rule,
                 "How a block's code follows from its largest magnitude: exact (the default), "
                 "rounded-log2, floor, even or round-up (docs/numerics.md)")
      ->type_name("RULE")
      ->check(OneOf(std::move(rules)));
  app.add_option("--scales", flags->scales,
                 "One code for a row's 32 values (row, the default) or for 32 x 32 (block, as "
                 "gfx942 wants)")
      ->type_name("SCALES")
      ->check(OneOf({"row", "block"}));
  app.add_option("--max", flags->maximum,
                 "The magnitude that a block's largest is scaled to at most. Default 0: the "
                 "format's own, 448, 240 or 6")
      ->type_name("X")
      ->check(Float(0));
  app.add_option("--amax-floor", flags->amax_floor,
                 "Blocks whose largest magnitude is less are scaled as if it were this. Default "
                 "0x1p-126")
      ->type_name("X")
      ->check(Float(0));
  app.add_option("--smallest-code", flags->smallest_code,
                 "The smallest scale code, 0 (the default) or 1")
      ->type_name("CODE")
      ->check(WholeNumber(0, 1));
  app.add_flag("--saturate", flags->saturate,
               "Infinities become the largest value, instead of NaN blocks");
  AddRepeated(app, "--only", &flags->only,
              "Names of tensors to quantize, as a shell pattern; may be given several times. "
              "Default *.weight")
      ->type_name("PATTERN");
  AddRepeated(app, "--except", &flags->except,
              "Names not to, of those. Default *embed*, *norm*, *lm_head*, *router*, "
              "*.gate.weight")
      ->type_name("PATTERN");
  app.callback([flags] {
    const Format& format = FormatNamed(flags->format);
    if (flags->maximum == 0) return;
    if (flags->maximum >= format.least && flags->maximum <= format.largest) return;
    throw CLI::ValidationError(
        "--max",
        absl::StrFormat("'%g': expected from %.9g to %.9g, the least and the largest "
                        "magnitude of %s (%s), or 0 for the largest",
                        flags->maximum, format.least, format.largest, AbslView(format.name),
                        AbslView(ElementFormatName(format.format))));
  });
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
      ->type_name("DTYPE")
      ->check(OneOf({"bf16", "f32"}));
  AddRewrite(app, &flags->rewrite);
  return [flags] {
    JsonReport json("dequantize", flags->rewrite.json);
    return json.End(RunDequantize(*flags, &json));
  };
}

}  // namespace lanewise::tools

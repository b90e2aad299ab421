// //:demo prepares a checkpoint for every target, checks the result against the reference, restores
// it and compares; then a decode step of experts runs on gfx942's kernels and is compared:
// ./bazelw run //:demo [-- CHECKPOINT]

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"
#include "checkpoint/prepare/prepare.h"
#include "checkpoint/restore/restore.h"
#include "checkpoint/safetensors/tensor_set.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/demo/checkpoint_maker.h"
#include "tools/demo/decode_step.h"
#include "tools/verify/verify.h"

namespace lanewise::tools {
namespace {

namespace fs = std::filesystem;

// A directory of the demo's own, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "lanewise-demo-XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  // "" if it could not be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr std::uint64_t kSeed = 942;

// A model as DeepSeek V4's in small: MXFP4 experts whose sizes the gfx942 kernels want padded,
// MXFP8 attention and shared experts, FlashMLA's two weights among them, and BF16 norms. The sizes
// have the odd factors of real ones: a hidden size that is a multiple of 64 alone,
// as gpt-oss's 2880.
CheckpointMaker SmallCheckpoint() {
  constexpr std::int64_t kHidden = 320, kInter = 192, kExperts = 4, kRank = 64, kHeads = 2;
  CheckpointMaker maker(kSeed);
  maker.metadata()["format"] = "pt";
  const auto linear = [&](const std::string& name, std::int64_t n, std::int64_t k) {
    maker.AddE4m3(name + ".weight", n, k);
    maker.AddCodes(name + ".scale", DType::kF8E8m0, {n / 32, k / 32});
  };
  const auto expert = [&](const std::string& name, std::int64_t n, std::int64_t k) {
    maker.AddE2m1(name + ".weight", DType::kI8, {n, k / 2});
    maker.AddCodes(name + ".scale", DType::kF8E8m0, {n, k / 32});
  };
  maker.AddBf16("embed.weight", {96, kHidden});
  for (int layer = 0; layer < 2; ++layer) {
    const std::string prefix = absl::StrCat("layers.", layer, ".");
    maker.AddBf16(prefix + "attn_norm.weight", {kHidden});
    linear(prefix + "attn.wq_a", kRank, kHidden);
    linear(prefix + "attn.wq_b", kHeads * 512, kRank);
    // Row codes, as some loaders repeat them.
    maker.AddE4m3(prefix + "attn.wkv.weight", 96, kHidden);
    maker.AddFoldingRowCodes(prefix + "attn.wkv.scale", DType::kF8E8m0, 96, kHidden / 32);
    linear(prefix + "attn.wo_a", kRank, 8 * 64);
    linear(prefix + "attn.wo_b", kHidden, kRank);
    maker.AddBf16(prefix + "ffn.gate.weight", {kExperts, kHidden});
    for (const char* name : {"w1", "w3"}) {
      linear(prefix + "ffn.shared_experts." + name, kInter, kHidden);
    }
    linear(prefix + "ffn.shared_experts.w2", kHidden, kInter);
    for (std::int64_t e = 0; e < kExperts; ++e) {
      const std::string name = absl::StrCat(prefix, "ffn.experts.", e, ".");
      expert(name + "w1", kInter, kHidden);
      expert(name + "w2", kHidden, kInter);
      expert(name + "w3", kInter, kHidden);
    }
  }
  maker.AddBf16("norm.weight", {kHidden});
  return maker;
}

// Prepares, verifies and restores; prints the target's line. False if anything is off,
// and says what.
bool RunTarget(const std::string& in, Target target, const std::string& directory) {
  const std::string name(TargetName(target));
  const auto fail = [&](const char* step, const std::string& why) {
    PrintLine(absl::StrFormat("  %-9s %s: %s", name, step, why));
    return false;
  };
  PrepareRequest prepare;
  prepare.in = in;
  prepare.out = directory + "/" + name;
  prepare.options.target = target;
  prepare.lossless = true;
  const absl::StatusOr<PrepareReport> prepared =
      PrepareCheckpoint(prepare, ProgressBar("prepare " + name));
  if (!prepared.ok()) return fail("not prepared", std::string(prepared.status().message()));

  VerifyRequest verify;
  verify.prepared = prepare.out;
  verify.against = in;
  const absl::StatusOr<VerifyReport> verified =
      VerifyPrepared(verify, ProgressBar("verify " + name));
  if (!verified.ok()) return fail("not verified", std::string(verified.status().message()));
  if (!verified->problems.empty()) return fail("wrong", verified->problems[0]);

  RestoreRequest restore;
  restore.in = prepare.out;
  restore.out = directory + "/" + name + "-restored";
  const absl::StatusOr<RestoreReport> restored =
      RestoreCheckpoint(restore, ProgressBar("restore " + name));
  if (!restored.ok()) return fail("not restored", std::string(restored.status().message()));
  if (!restored->exact) return fail("restored with differences", restored->differing[0]);

  const PreparedRank& rank = prepared->ranks[0];
  std::int64_t tensors = 0;
  for (const auto& [layout, row] : verified->by_layout) tensors += row.tensors;
  std::printf("  %-9s %8lld %7lld %11s %11lld %6lld of %-6lld  byte for byte\n", name.c_str(),
              static_cast<long long>(rank.preparation.prepared),
              static_cast<long long>(rank.preparation.copied), SizeText(rank.bytes).c_str(),
              static_cast<long long>(rank.negative_zeros), static_cast<long long>(tensors),
              static_cast<long long>(tensors));
  std::error_code ignored;  // a large checkpoint need not lie there six times over
  fs::remove_all(prepare.out, ignored);
  fs::remove_all(restore.out, ignored);
  return true;
}

// Runs the step and prints what it did. False if anything is off.
bool ShowDecodeStep(const std::string& directory) {
  const DecodeStep step;
  std::printf(
      "\nA decode step of experts as DeepSeek V4.1-Flash's on one of 4 ranks, the shared one among "
      "them,\nwith %lld of their 576 intermediate columns and %lld of its 384 experts: %lld "
      "tokens, "
      "top %lld, hidden size %lld\n\n",
      static_cast<long long>(step.inter), static_cast<long long>(step.experts),
      static_cast<long long>(step.tokens), static_cast<long long>(step.top_k),
      static_cast<long long>(step.hidden));
  std::fflush(stdout);
  const absl::StatusOr<DecodeReport> report = RunDecodeStep(step, directory);
  if (!report.ok()) {
    PrintLine(absl::StrCat("  not run: ", report.status().message()));
    return false;
  }
  std::printf("  %s: %lld kernels over %s of prepared weights (%lld experts and the shared one)\n",
              report->device.c_str(), static_cast<long long>(report->launches),
              SizeText(report->weight_bytes).c_str(), static_cast<long long>(report->experts_used));
  if (report->different == 0) {
    std::printf("  all %lld outputs equal the reference bit for bit\n",
                static_cast<long long>(report->elements));
    return true;
  }
  std::printf("  %lld of %lld outputs differ from the reference; the first: %s\n",
              static_cast<long long>(report->different), static_cast<long long>(report->elements),
              report->first_difference.c_str());
  return false;
}

int Demo(const std::string& given) {
  const TemporaryDirectory directory;
  if (directory.path().empty()) {
    std::fprintf(stderr, "demo: cannot make a temporary directory\n");
    return 1;
  }
  std::string in = given;
  if (given.empty()) {
    in = directory.path() + "/small.safetensors";
    if (const absl::Status status = SmallCheckpoint().Write(in); !status.ok()) {
      PrintError("demo", StdView(status.message()));
      return 1;
    }
  }
  const absl::StatusOr<TensorSet> set = TensorSet::Open(in);
  if (!set.ok()) {
    PrintError("demo", StdView(set.status().message()));
    return 1;
  }
  PrintLine(absl::StrCat(
      given.empty() ? "A small model of random weights, MXFP4 experts and MXFP8 linears" : given,
      ": ", CountText(std::ssize(set->tensors()), "tensor"), ", ", SizeText(set->total_bytes())));
  PrintLine("");
  std::printf("  %-9s %8s %7s %11s %11s %16s  %s\n", "target", "prepared", "copied", "written",
              "-0 to +0", "verified", "restored");
  bool ok = true;
  for (const Target target : {Target::kGfx942, Target::kGfx950, Target::kFlashmla}) {
    ok = RunTarget(in, target, directory.path()) && ok;
    std::fflush(stdout);
  }
  ok = ShowDecodeStep(directory.path()) && ok;
  std::printf(
      "\n%s\n",
      ok ? "OK: every prepared byte is what the reference says, and every file came back as it was."
         : "Not OK: see above.");
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace lanewise::tools

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    std::fprintf(stderr,
                 "usage: demo [CHECKPOINT]   a safetensors file, an index or a directory\n");
    return 2;
  }
  return lanewise::tools::Demo(argc == 2 ? lanewise::tools::UserPath(argv[1]) : "");
}

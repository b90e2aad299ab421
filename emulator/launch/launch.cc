#include "emulator/launch/launch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "emulator/launch/dispatch_state.h"
#include "emulator/launch/random.h"
#include "emulator/launch/workgroup_runner.h"

namespace lanewise::emulator {
namespace {

constexpr uint64_t kMaxTurn = uint64_t{1} << 40;
constexpr uint64_t kNoBudget = ~uint64_t{0} / 2;
// Workgroups under way at a time then; about what one device of 304 compute units holds.
constexpr size_t kMaxResident = 608;

// Looks through the kernel's own text: from its entry to the next kernel's, or everything where it
// calls functions.
bool OrderShows(const CodeObject& object, const Kernel& kernel) {
  const Program& program = object.program();
  uint32_t end = program.end;
  for (const Kernel& other : object.kernels()) {
    if (other.entry > kernel.entry) end = std::min(end, other.entry);
  }
  bool calls = false;
  bool own = false;
  bool any = false;
  for (const Instruction& inst : program.instructions) {
    any = any || inst.order_shows;
    if (inst.pc < kernel.entry || inst.pc >= end) continue;
    own = own || inst.order_shows;
    calls = calls || inst.traits.calls;
  }
  return own || (calls && any);
}

absl::Status CheckConfig(const LaunchConfig& config) {
  const Kernel& kernel = *config.kernel;
  const uint64_t items = config.block.Count();
  if (items == 0 || config.grid.Count() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel ", kernel.name, ": an empty grid or block"));
  }
  if (items > static_cast<uint64_t>(kernel.max_flat_workgroup_size) || items > 1024) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel ", kernel.name, ": a block of ", items, " work-items, it was compiled for at most ",
        std::min<int64_t>(kernel.max_flat_workgroup_size, 1024)));
  }
  const uint64_t lds = uint64_t{kernel.group_segment_size} + config.dynamic_lds;
  if (lds > TraitsOf(config.object->arch()).lds_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", kernel.name, ": ", lds,
                                                   " bytes of LDS, the chip has ",
                                                   TraitsOf(config.object->arch()).lds_bytes));
  }
  if (static_cast<int64_t>(config.arguments.size()) < kernel.ExplicitSize()) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel ", kernel.name, ": ", config.arguments.size(),
                     " bytes of arguments, it takes ", kernel.ExplicitSize()));
  }
  if (((kernel.rsrc1 >> 12) & 0xf) != 0) {
    return absl::UnimplementedError(
        absl::StrCat("kernel ", kernel.name, " asks for a rounding other than to nearest even"));
  }
  for (const uint64_t turn : {config.schedule.turn, config.schedule.group_turn}) {
    if (turn == 0 || turn > kMaxTurn) {
      return absl::InvalidArgumentError(
          absl::StrCat("a turn of ", turn, " instructions, expected 1 to ", kMaxTurn));
    }
  }
  return absl::OkStatus();
}

// Waves a SIMD can hold: 512 registers of which a wave takes a multiple of 8, at most 8 waves; a
// workgroup's waves share the 4 SIMDs of a compute unit, workgroups its LDS.
int64_t WavesPerSimd(const LaunchConfig& config, int64_t registers, int64_t waves) {
  const int64_t by_registers = std::clamp<int64_t>(512 / std::max<int64_t>(registers, 8), 1, 8);
  int64_t groups = 4 * by_registers / waves;
  const int64_t lds = int64_t{config.kernel->group_segment_size} + config.dynamic_lds;
  if (lds > 0) groups = std::min(groups, int64_t{TraitsOf(config.object->arch()).lds_bytes} / lds);
  return (std::max<int64_t>(groups, 1) * waves + 3) / 4;
}

void DescribeKernel(const LaunchConfig& config, int64_t waves, LaunchCounters& counters) {
  const Kernel& kernel = *config.kernel;
  counters.vgprs = static_cast<int64_t>((kernel.rsrc1 & 0x3f) + 1) * 8;
  counters.agprs = kernel.agpr_count;
  counters.sgprs = kernel.sgpr_count;
  counters.lds_bytes = int64_t{kernel.group_segment_size} + config.dynamic_lds;
  counters.private_bytes = kernel.private_segment_size;
  counters.waves_per_simd = WavesPerSimd(config, counters.vgprs, waves);
}

// The failure of the lowest workgroup.
struct FirstFailure {
  std::mutex mutex;
  std::atomic<uint64_t> workgroup{~uint64_t{0}};
  std::string message;

  void Note(const WorkgroupRunner& runner) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (runner.index() >= workgroup) return;
    workgroup = runner.index();
    message = runner.Failure();
  }
};

class GridRun {
 public:
  explicit GridRun(const LaunchConfig& config)
      : config_(config), dispatch_(config), memory_(Memory(config, dispatch_)) {}

  absl::StatusOr<LaunchCounters> Run() {
    if (config_.schedule.seed) {
      RunAtRandom();
    } else if (OrderShows(*config_.object, *config_.kernel)) {
      RunInOrder();
    } else {
      RunInParallel();
    }
    if (failure_.workgroup != ~uint64_t{0}) return absl::AbortedError(failure_.message);
    DescribeKernel(config_, dispatch_.waves_per_workgroup(), counters_);
    return counters_;
  }

 private:
  static AllocationSnapshot Memory(const LaunchConfig& config, const DispatchState& dispatch) {
    std::vector<Allocation> all = config.memory;
    for (Allocation& allocation : dispatch.Memory()) all.push_back(std::move(allocation));
    all.push_back({reinterpret_cast<uint64_t>(config.object->image()), config.object->image_size(),
                   "the code object"});
    return AllocationSnapshot(std::move(all));
  }

  void RunInParallel() {
    const uint64_t groups = config_.grid.Count();
    const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
    const uint64_t wanted =
        config_.threads > 0 ? static_cast<uint64_t>(config_.threads) : processors;
    const uint64_t threads = std::min(wanted, groups);
    std::atomic<uint64_t> next{0};
    const auto work = [&] {
      WorkgroupRunner runner(config_, dispatch_, memory_, begin_);
      // A workgroup after a failed one no longer matters, one before it might fail too.
      for (uint64_t i = next++; i < groups && i < failure_.workgroup; i = next++) {
        runner.Begin(i);
        WorkgroupRunner::Result result;
        do {
          result = runner.Run(kNoBudget);
        } while (result == WorkgroupRunner::Result::kTurnOver);
        if (result == WorkgroupRunner::Result::kFailed) failure_.Note(runner);
      }
      AddCounters(runner);
    };
    std::vector<std::thread> others;
    for (uint64_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
    for (std::thread& thread : others) thread.join();
  }

  void RunInOrder() {
    const uint64_t groups = config_.grid.Count();
    std::vector<std::unique_ptr<WorkgroupRunner>> idle;
    std::vector<std::unique_ptr<WorkgroupRunner>> waiting;
    bool failed = false;
    const auto turn = [&](std::unique_ptr<WorkgroupRunner> runner) {
      switch (runner->Run(config_.schedule.group_turn)) {
        case WorkgroupRunner::Result::kFailed:
          failure_.Note(*runner);
          failed = true;
          [[fallthrough]];
        case WorkgroupRunner::Result::kDone:
          idle.push_back(std::move(runner));
          break;
        case WorkgroupRunner::Result::kTurnOver:
          waiting.push_back(std::move(runner));
          break;
      }
    };
    const auto turn_of_waiting = [&] {
      std::vector<std::unique_ptr<WorkgroupRunner>> now = std::move(waiting);
      waiting.clear();
      for (std::unique_ptr<WorkgroupRunner>& runner : now) {
        if (!failed) turn(std::move(runner));
      }
    };
    for (uint64_t i = 0; i < groups && !failed; ++i) {
      while (waiting.size() >= kMaxResident && !failed) turn_of_waiting();
      if (failed) break;
      if (idle.empty()) {
        idle.push_back(std::make_unique<WorkgroupRunner>(config_, dispatch_, memory_, begin_));
      }
      std::unique_ptr<WorkgroupRunner> runner = std::move(idle.back());
      idle.pop_back();
      runner->Begin(i);
      turn(std::move(runner));
    }
    while (!waiting.empty() && !failed) turn_of_waiting();
    for (const std::unique_ptr<WorkgroupRunner>& runner : idle) AddCounters(*runner);
  }

  // Any workgroup of those under way may be next, for any time.
  void RunAtRandom() {
    const uint64_t groups = config_.grid.Count();
    SplitMix random{*config_.schedule.seed};
    std::vector<std::unique_ptr<WorkgroupRunner>> idle;
    std::vector<std::unique_ptr<WorkgroupRunner>> active;
    uint64_t begun = 0;
    while ((begun < groups || !active.empty()) && failure_.workgroup == ~uint64_t{0}) {
      while (begun < groups && active.size() < kMaxResident) {
        if (idle.empty()) {
          idle.push_back(std::make_unique<WorkgroupRunner>(config_, dispatch_, memory_, begin_));
        }
        active.push_back(std::move(idle.back()));
        idle.pop_back();
        active.back()->Begin(begun++);
      }
      const size_t chosen = random.Below(active.size());
      const uint64_t turn = random.Turn(config_.schedule.group_turn);
      const WorkgroupRunner::Result result = active[chosen]->Run(turn);
      if (result == WorkgroupRunner::Result::kTurnOver) continue;
      if (result == WorkgroupRunner::Result::kFailed) failure_.Note(*active[chosen]);
      idle.push_back(std::move(active[chosen]));
      active[chosen] = std::move(active.back());
      active.pop_back();
    }
    for (const std::unique_ptr<WorkgroupRunner>& runner : idle) AddCounters(*runner);
  }

  void AddCounters(const WorkgroupRunner& runner) {
    const std::lock_guard<std::mutex> lock(counters_mutex_);
    counters_.Add(runner.counters());
  }

  const LaunchConfig& config_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  DispatchState dispatch_;
  AllocationSnapshot memory_;
  FirstFailure failure_;
  std::mutex counters_mutex_;
  LaunchCounters counters_;
};

}  // namespace

absl::StatusOr<LaunchCounters> Launch(const LaunchConfig& config) {
  if (absl::Status status = CheckConfig(config); !status.ok()) return status;
  return GridRun(config).Run();
}

}  // namespace lanewise::emulator

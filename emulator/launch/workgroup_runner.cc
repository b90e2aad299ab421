#include "emulator/launch/workgroup_runner.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "emulator/check/checker.h"

namespace lanewise::emulator {
namespace {

// Rounds between two looks at the clock, a power of two.
constexpr uint64_t kRoundsPerLook = 64;
// LDS holds this before a kernel writes it.
constexpr uint8_t kLdsPoison = 0xcd;
// Space for frames that the compiler cannot count (recursion, alloca).
constexpr uint32_t kDynamicStack = 16384;

}  // namespace

WorkgroupRunner::WorkgroupRunner(const LaunchConfig& config, const DispatchState& dispatch,
                                 const AllocationSnapshot& memory,
                                 std::chrono::steady_clock::time_point begin)
    : config_(config), dispatch_(dispatch), begin_(begin) {
  const Kernel& kernel = *config.kernel;
  context_.image_base = reinterpret_cast<uint64_t>(config.object->image());
  context_.memory = &memory;
  context_.checks = config.checks;
  context_.traffic = config.traffic;
  context_.private_bytes =
      kernel.private_segment_size + (kernel.uses_dynamic_stack ? kDynamicStack : 0);
  const auto waves = static_cast<size_t>(dispatch.waves_per_workgroup());
  context_.lds.resize(kernel.group_segment_size + config.dynamic_lds);
  context_.scratch.resize(waves);
  for (std::vector<uint8_t>& scratch : context_.scratch) {
    scratch.resize(size_t{context_.private_bytes} * kLanes);
  }
  if (context_.checking()) {
    context_.lds_shadow.writes.resize(context_.lds.size());
    context_.lds_shadow.reads.resize(context_.lds.size());
    context_.shadows.resize(waves);
    for (WaveShadow& shadow : context_.shadows) {
      shadow.scratch_defined.resize(size_t{context_.private_bytes} * kLanes);
    }
  }
  for (size_t i = 0; i < waves; ++i) {
    waves_.push_back(std::make_unique<Wave>());
    waves_.back()->context = &context_;
  }
}

void WorkgroupRunner::Begin(uint64_t index) {
  index_ = index;
  id_.x = static_cast<uint32_t>(index % config_.grid.x);
  id_.y = static_cast<uint32_t>(index / config_.grid.x % config_.grid.y);
  id_.z = static_cast<uint32_t>(index / config_.grid.x / config_.grid.y);
  failed_wave_ = -1;
  random_.state = config_.schedule.seed.value_or(0) ^ (index + 1) * 0x9e3779b97f4a7c15u;
  std::fill(context_.lds.begin(), context_.lds.end(), kLdsPoison);
  for (std::vector<uint8_t>& scratch : context_.scratch) {
    std::fill(scratch.begin(), scratch.end(), kLdsPoison);
  }
  LdsShadow& shadow = context_.lds_shadow;
  std::fill(shadow.writes.begin(), shadow.writes.end(), LdsAccess());
  std::fill(shadow.reads.begin(), shadow.reads.end(), LdsAccess());
  shadow.epoch = 1;
  shadow.arriving.clear();
  context_.clock = 0;
  ++context_.counters.workgroups;
  context_.counters.waves += waves_.size();
  for (size_t i = 0; i < waves_.size(); ++i) {
    dispatch_.Begin(*waves_[i], static_cast<int>(i), id_,
                    context_.checking() ? &context_.shadows[i] : nullptr);
  }
}

WorkgroupRunner::Result WorkgroupRunner::Run(uint64_t budget) {
  const uint64_t end = context_.clock + budget;
  for (;;) {
    const Round round = RunRound();
    if (failed_wave_ >= 0) return Result::kFailed;
    if (!round.alive) return Result::kDone;
    // Waves that have ended count as arrived.
    if (!round.running) ReleaseBarrier();
    if (context_.clock >= end || (round.running && !round.progress)) return Result::kTurnOver;
  }
}

WorkgroupRunner::Round WorkgroupRunner::RunRound() {
  Round round;
  const bool look = (rounds_++ & (kRoundsPerLook - 1)) == 0;
  const bool at_random = config_.schedule.seed.has_value();
  const size_t first = at_random ? random_.Below(waves_.size()) : 0;
  for (size_t i = 0; i < waves_.size(); ++i) {
    Wave& wave = *waves_[(first + i) % waves_.size()];
    if (wave.state == Wave::State::kRunning) {
      wave.gives_up_turn = false;
      RunWave(wave, at_random ? random_.Turn(config_.schedule.turn) : config_.schedule.turn);
      if (look && wave.state == Wave::State::kRunning) CheckTime(wave);
      if (wave.state == Wave::State::kFailed) {
        failed_wave_ = wave.id_in_group;
        return round;
      }
      round.progress = round.progress || !wave.gives_up_turn;
    }
    round.running = round.running || wave.state == Wave::State::kRunning;
    round.alive = round.alive || wave.state != Wave::State::kDone;
  }
  return round;
}

void WorkgroupRunner::ReleaseBarrier() {
  ++context_.lds_shadow.epoch;
  for (const std::unique_ptr<Wave>& wave : waves_) {
    if (wave->state == Wave::State::kAtBarrier) wave->state = Wave::State::kRunning;
  }
}

void WorkgroupRunner::CheckTime(Wave& wave) const {
  if (!config_.time_limit || std::chrono::steady_clock::now() - begin_ < *config_.time_limit)
    return;
  const std::chrono::duration<double> limit = *config_.time_limit;
  wave.Fail(absl::StrFormat("still runs after %g s, the time limit of the launch", limit.count()));
}

void WorkgroupRunner::RunWave(Wave& wave, uint64_t budget) {
  if (context_.checking()) {
    RunInstructions<true>(wave, budget);
  } else {
    RunInstructions<false>(wave, budget);
  }
}

template <bool kChecking>
void WorkgroupRunner::RunInstructions(Wave& wave, uint64_t budget) {
  const Program& program = config_.object->program();
  LaunchCounters& counters = context_.counters;
  const bool tracing = config_.trace.out != nullptr && config_.trace.workgroup == index_ &&
                       config_.trace.wave == wave.id_in_group;
  for (uint64_t i = 0; i < budget && wave.state == Wave::State::kRunning && !wave.gives_up_turn;
       ++i) {
    const Instruction* const inst = program.At(wave.next_pc);
    failed_pc_ = wave.next_pc;
    if (inst == nullptr) {
      wave.Fail("the program counter is outside of the code");
      return;
    }
    wave.next_pc += inst->size;
    ++context_.clock;
    ++counters.instructions[static_cast<int>(inst->klass)];
    counters.matrix_cycles += inst->matrix_cycles;
    if (tracing) Trace(wave, *inst);
    if constexpr (kChecking) {
      CheckBefore(wave, *inst);
      if (wave.state != Wave::State::kRunning) return;
    }
    if (wave.mode.gpr_index_enabled()) {
      RunIndexed(wave, *inst);
    } else {
      inst->handler(wave, *inst);
    }
    if constexpr (kChecking) NoteAfter(wave, *inst);
    wave.polled = wave.polled || inst->polls;
    wave.stored = wave.stored || inst->stores;
    if (wave.next_pc <= inst->pc) NoteBackward(wave);
  }
}

// Nothing but another wave can change what a loop sees that looks at memory and stores nothing.
void WorkgroupRunner::NoteBackward(Wave& wave) {
  wave.gives_up_turn = wave.gives_up_turn || (wave.polled && !wave.stored);
  wave.polled = wave.stored = false;
}

// s_set_gpr_idx_on: M0 holds an index in its low byte, added to the vector registers of the sources
// that bits 12 to 14 name and of the destination where bit 15 is set.
void WorkgroupRunner::RunIndexed(Wave& wave, const Instruction& inst) {
  if (inst.encoding != Encoding::kVop1 && inst.encoding != Encoding::kVop2 &&
      inst.encoding != Encoding::kVopc && inst.encoding != Encoding::kVop3) {
    inst.handler(wave, inst);
    return;
  }
  Instruction moved = inst;
  const uint32_t m0 = wave.m0();
  const auto shift = static_cast<uint16_t>(m0 & 0xff);
  const auto move = [&](Operand& operand, bool enabled) {
    if (!enabled || !operand.is_vector()) return;
    operand.index = static_cast<uint16_t>(operand.index + shift);
    if (operand.index + operand.dwords > kFirstAccumulator) {
      wave.Fail(absl::StrCat("a relative register index of ", shift, " leads past v255"));
    }
  };
  for (int i = 0; i < 3 && i < inst.src_count; ++i) move(moved.src[i], ((m0 >> (12 + i)) & 1) != 0);
  if (inst.dst_count > 0) move(moved.dst[0], ((m0 >> 15) & 1) != 0);
  if (wave.state == Wave::State::kRunning) moved.handler(wave, moved);
}

void WorkgroupRunner::Trace(const Wave& wave, const Instruction& inst) const {
  std::fprintf(config_.trace.out, "%06" PRIx32 " exec=%016" PRIx64 " %s\n", inst.pc, wave.exec(),
               config_.object->Disassemble(inst.pc).c_str());
}

std::string WorkgroupRunner::Failure() const {
  const Wave& wave = *waves_[static_cast<size_t>(failed_wave_)];
  const std::string line = config_.object->SourceLine(failed_pc_);
  return absl::StrFormat("kernel %s, workgroup (%d, %d, %d), wave %d, pc 0x%x%s%s%s `%s`: %s",
                         config_.kernel->name, id_.x, id_.y, id_.z, wave.id_in_group, failed_pc_,
                         line.empty() ? "" : " (", line, line.empty() ? "" : ")",
                         config_.object->Disassemble(failed_pc_), wave.failure()) +
         (config_.schedule.seed
              ? absl::StrCat(" (under the random schedule of seed ", *config_.schedule.seed, ")")
              : "");
}

}  // namespace lanewise::emulator

#include "emulator/launch/dispatch_state.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "emulator/check/checker.h"
#include "emulator/memory/apertures.h"

namespace lanewise::emulator {
namespace {

// Registers hold this before a kernel writes them: as a float a NaN, as an address nothing.
constexpr uint32_t kPoison = 0xffbadbad;

bool Property(const Kernel& kernel, int bit) { return ((kernel.code_properties >> bit) & 1) != 0; }
bool Rsrc2(const Kernel& kernel, int bit) { return ((kernel.rsrc2 >> bit) & 1) != 0; }

// Bits of kernel_code_properties.
constexpr int kPrivateSegmentBuffer = 0;
constexpr int kDispatchPtr = 1;
constexpr int kQueuePtr = 2;
constexpr int kKernargPtr = 3;
constexpr int kDispatchId = 4;
constexpr int kFlatScratchInit = 5;
constexpr int kPrivateSegmentSize = 6;

template <typename T>
void Put(std::vector<uint64_t>& bytes, int64_t offset, T value) {
  if (offset + static_cast<int64_t>(sizeof(T)) > static_cast<int64_t>(bytes.size() * 8)) return;
  std::memcpy(reinterpret_cast<uint8_t*>(bytes.data()) + offset, &value, sizeof(T));
}

uint32_t ModeOf(uint32_t rsrc1) {
  return ((rsrc1 >> 12) & 0xff)       // rounding and denormal modes
         | ((rsrc1 >> 21) & 1) << 8   // DX10_CLAMP
         | ((rsrc1 >> 23) & 1) << 9   // IEEE
         | ((rsrc1 >> 26) & 1) << 23  // FP16_OVFL
      ;
}

void SetScalar(Wave& wave, WaveShadow* shadow, int index, uint32_t value) {
  wave.scalar[index] = value;
  if (shadow != nullptr) shadow->scalar_defined[index] = ~0u;
}

void SetScalar64(Wave& wave, WaveShadow* shadow, int index, uint64_t value) {
  SetScalar(wave, shadow, index, static_cast<uint32_t>(value));
  SetScalar(wave, shadow, index + 1, static_cast<uint32_t>(value >> 32));
}

}  // namespace

DispatchState::DispatchState(const LaunchConfig& config) : config_(config) {
  waves_ = static_cast<int>((config.block.Count() + kLanes - 1) / kLanes);
  kernarg_.assign((config.kernel->kernarg_size + 7) / 8 + 1, 0);
  packet_.assign(8, 0);  // hsa_kernel_dispatch_packet_t has 64 bytes
  queue_.assign(32, 0);
  FillKernarg();
  FillPacket();
}

void DispatchState::FillKernarg() {
  const LaunchConfig& config = config_;
  std::memcpy(kernarg_.data(), config.arguments.data(),
              std::min<size_t>(config.arguments.size(), kernarg_.size() * 8));
  for (const KernelArgument& argument : config.kernel->arguments) {
    if (!argument.is_hidden()) continue;
    const std::string_view kind = std::string_view(argument.value_kind).substr(7);
    const int64_t at = argument.offset;
    if (kind == "block_count_x") Put<uint32_t>(kernarg_, at, config.grid.x);
    if (kind == "block_count_y") Put<uint32_t>(kernarg_, at, config.grid.y);
    if (kind == "block_count_z") Put<uint32_t>(kernarg_, at, config.grid.z);
    if (kind == "group_size_x") Put<uint16_t>(kernarg_, at, static_cast<uint16_t>(config.block.x));
    if (kind == "group_size_y") Put<uint16_t>(kernarg_, at, static_cast<uint16_t>(config.block.y));
    if (kind == "group_size_z") Put<uint16_t>(kernarg_, at, static_cast<uint16_t>(config.block.z));
    if (kind == "grid_dims") {
      const int dims = config.grid.z * config.block.z > 1   ? 3
                       : config.grid.y * config.block.y > 1 ? 2
                                                            : 1;
      Put<uint16_t>(kernarg_, at, static_cast<uint16_t>(dims));
    }
    if (kind == "private_base") Put<uint32_t>(kernarg_, at, kPrivateAperture);
    if (kind == "shared_base") Put<uint32_t>(kernarg_, at, kSharedAperture);
    if (kind == "dynamic_lds_size") Put<uint32_t>(kernarg_, at, config.dynamic_lds);
    if (kind == "queue_ptr") Put<uint64_t>(kernarg_, at, reinterpret_cast<uint64_t>(queue_.data()));
    // Remainders and global offsets are 0: HIP's grids are whole workgroups from the origin. There
    // is no host service, heap, default queue, completion action or printf buffer: their pointers
    // stay 0.
  }
}

void DispatchState::FillPacket() {
  const LaunchConfig& config = config_;
  Put<uint16_t>(packet_, 2, 3);  // setup: three dimensions
  Put<uint16_t>(packet_, 4, static_cast<uint16_t>(config.block.x));
  Put<uint16_t>(packet_, 6, static_cast<uint16_t>(config.block.y));
  Put<uint16_t>(packet_, 8, static_cast<uint16_t>(config.block.z));
  Put<uint32_t>(packet_, 12, config.grid.x * config.block.x);
  Put<uint32_t>(packet_, 16, config.grid.y * config.block.y);
  Put<uint32_t>(packet_, 20, config.grid.z * config.block.z);
  Put<uint32_t>(packet_, 24, config.kernel->private_segment_size);
  Put<uint32_t>(packet_, 28, config.kernel->group_segment_size + config.dynamic_lds);
  Put<uint64_t>(packet_, 40, reinterpret_cast<uint64_t>(kernarg_.data()));
}

std::vector<Allocation> DispatchState::Memory() const {
  return {
      {reinterpret_cast<uint64_t>(kernarg_.data()), kernarg_.size() * 8, "the kernel's arguments"},
      {reinterpret_cast<uint64_t>(packet_.data()), packet_.size() * 8, "the dispatch packet"},
      {reinterpret_cast<uint64_t>(queue_.data()), queue_.size() * 8, "the queue"}};
}

// Returns the number of scalar registers taken.
int DispatchState::UserRegisters(Wave& wave, WaveShadow* shadow) const {
  const Kernel& kernel = *config_.kernel;
  int next = 0;
  if (Property(kernel, kPrivateSegmentBuffer)) {
    for (int i = 0; i < 4; ++i) SetScalar(wave, shadow, next++, 0);
  }
  const auto pointer = [&](int property, uint64_t value) {
    if (!Property(kernel, property)) return;
    SetScalar64(wave, shadow, next, value);
    next += 2;
  };
  pointer(kDispatchPtr, reinterpret_cast<uint64_t>(packet_.data()));
  pointer(kQueuePtr, reinterpret_cast<uint64_t>(queue_.data()));
  pointer(kKernargPtr, reinterpret_cast<uint64_t>(kernarg_.data()));
  pointer(kDispatchId, 0);
  pointer(kFlatScratchInit, 0);
  if (Property(kernel, kPrivateSegmentSize)) {
    SetScalar(wave, shadow, next++, kernel.private_segment_size);
  }
  const int preloaded = kernel.kernarg_preload & 0x7f;
  const int first = kernel.kernarg_preload >> 7;
  const auto* dwords = reinterpret_cast<const uint8_t*>(kernarg_.data());
  for (int i = 0; i < preloaded; ++i) {
    uint32_t value = 0;
    const size_t at = static_cast<size_t>(first + i) * 4;
    if (at + 4 <= kernarg_.size() * 8) std::memcpy(&value, dwords + at, 4);
    SetScalar(wave, shadow, next++, value);
  }
  return std::max<int>(next, (kernel.rsrc2 >> 1) & 31);
}

void DispatchState::Begin(Wave& wave, int id, const Extent& workgroup, WaveShadow* shadow) const {
  const Kernel& kernel = *config_.kernel;
  const Extent& block = config_.block;
  const int rows = static_cast<int>(((kernel.rsrc1 & 0x3f) + 1) * 8);
  const int vectors = std::min<int>(static_cast<int>((kernel.rsrc3 & 0x3f) + 1) * 4, rows);
  std::fill_n(&wave.vector[0][0], std::min(vectors, 256) * kLanes, kPoison);
  std::fill_n(&wave.vector[kFirstAccumulator][0], std::min(rows - vectors, 256) * kLanes, kPoison);
  std::fill_n(wave.scalar, kScalarEntries, kPoison);
  if (shadow != nullptr) ResetShadow(*shadow);

  int next = UserRegisters(wave, shadow);
  if (Rsrc2(kernel, 7)) SetScalar(wave, shadow, next++, workgroup.x);
  if (Rsrc2(kernel, 8)) SetScalar(wave, shadow, next++, workgroup.y);
  if (Rsrc2(kernel, 9)) SetScalar(wave, shadow, next++, workgroup.z);
  if (Rsrc2(kernel, 10)) SetScalar(wave, shadow, next++, 0);  // workgroup info

  const uint64_t first = static_cast<uint64_t>(id) * kLanes;
  const uint64_t items = block.Count();
  const uint64_t active = std::min<uint64_t>(items - first, kLanes);
  const uint64_t exec = active == kLanes ? ~uint64_t{0} : (uint64_t{1} << active) - 1;
  for (uint64_t l = 0; l < active; ++l) {
    const uint64_t item = first + l;
    const auto x = static_cast<uint32_t>(item % block.x);
    const auto y = static_cast<uint32_t>(item / block.x % block.y);
    const auto z = static_cast<uint32_t>(item / block.x / block.y);
    wave.vector[0][l] = x | y << 10 | z << 20;
  }
  wave.scalar[kScc] = 0;
  wave.set_exec(exec);
  if (shadow != nullptr) {
    shadow->defined[0] = exec;
    shadow->scalar_defined[kExec] = shadow->scalar_defined[kExec + 1] = ~0u;
  }
  wave.mode.bits = ModeOf(kernel.rsrc1);
  // With preloaded arguments the first 256 bytes are for hardware that cannot preload.
  wave.next_pc = kernel.entry + ((kernel.kernarg_preload & 0x7f) != 0 ? 256 : 0);
  wave.state = Wave::State::kRunning;
  wave.arch = config_.object->arch();
  wave.id_in_group = id;
  wave.gives_up_turn = wave.polled = wave.stored = false;
}

}  // namespace lanewise::emulator

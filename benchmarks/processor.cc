#include "benchmarks/processor.h"

#include <sched.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hwy/targets.h"

namespace lanewise::benchmarks {
namespace {

constexpr char kUnknown[] = "unknown";

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string Model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (absl::StartsWith(line, "model name")) return line.substr(line.find(": ") + 2);
  }
  return kUnknown;
}

int Cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

// "32768K" as "32 MiB".
std::string CacheSize(const std::string& size) {
  std::int64_t kib = 0;
  if (!absl::EndsWith(size, "K") || !absl::SimpleAtoi(size.substr(0, size.size() - 1), &kib)) {
    return size;
  }
  return kib % 1024 == 0 ? absl::StrCat(kib / 1024, " MiB") : absl::StrCat(kib, " KiB");
}

std::string Caches() {
  const std::filesystem::path folder = "/sys/devices/system/cpu/cpu0/cache";
  std::vector<std::string> caches;
  for (int i = 0; std::filesystem::exists(folder / absl::StrCat("index", i)); ++i) {
    const std::filesystem::path index = folder / absl::StrCat("index", i);
    if (FirstLine(index / "type") == "Instruction") continue;
    caches.push_back(
        absl::StrCat("L", FirstLine(index / "level"), " ", CacheSize(FirstLine(index / "size"))));
  }
  return caches.empty() ? kUnknown : absl::StrJoin(caches, ", ");
}

// The bits of what the machine has and the build compiles; the lowest is the best.
std::int64_t Targets() { return hwy::SupportedTargets() & HWY_TARGETS; }

}  // namespace

std::string Processor::ToString() const {
  return absl::StrCat(model, ", ", cores, cores == 1 ? " core, " : " cores, ", caches, ", ",
                      instruction_set);
}

Processor ThisProcessor() {
  const std::vector<std::string> sets = InstructionSets();
  return {Model(), Cores(), Caches(), sets.empty() ? kUnknown : sets.front()};
}

absl::Status UseInstructionSet(const std::string& name) {
  const std::int64_t targets = Targets();
  for (std::int64_t rest = targets; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    if (!absl::EqualsIgnoreCase(hwy::TargetName(target), name)) continue;
    hwy::DisableTargets(~target);
    hwy::GetChosenTarget().Update(target);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("this machine has no instruction set ", name,
                                                 ", but ", absl::StrJoin(InstructionSets(), ", ")));
}

std::vector<std::string> InstructionSets() {
  std::vector<std::string> names;
  for (std::int64_t rest = Targets(); rest != 0; rest &= rest - 1) {
    names.emplace_back(hwy::TargetName(rest & -rest));
  }
  return names;
}

}  // namespace lanewise::benchmarks

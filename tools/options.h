#ifndef LANEWISE_TOOLS_OPTIONS_H_
#define LANEWISE_TOOLS_OPTIONS_H_

// Options that several subcommands of `lanewise` have. What they refuse is wrong usage.
// base/option_values.h has the validators of the others.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "checkpoint/stream/output_fates.h"

namespace lanewise::tools {

// "1073741824", "512M", "1.5GiB": bytes, K, M, G and T of 1024, with or without B or iB; where
// `decimal`, of 1000 unless they end in i or iB. InvalidArgument for anything else, for less than a
// byte, and for what has no room in 63 bits.
absl::StatusOr<std::int64_t> ParseSize(const std::string& text, bool decimal = false);

// "2/16": part 2 (from 0) of 16. InvalidArgument unless 0 <= part < parts.
absl::StatusOr<std::pair<int, int>> ParseShard(const std::string& text);

// An option that is a size, as ParseSize has it.
void AddSize(CLI::App& app, const std::string& name, std::int64_t* bytes, bool decimal,
             const std::string& about);

// An option that may be given several times, each time with one value: what follows it is another
// argument. An empty value is refused.
CLI::Option* AddRepeated(CLI::App& app, const std::string& name, std::vector<std::string>* values,
                         const std::string& about);

// Adds --overwrite, --resume and --shard.
void AddRules(CLI::App& app, OutputRules* rules);

// Adds --memory.
void AddMemory(CLI::App& app, std::int64_t* memory);

// Adds --threads.
void AddThreads(CLI::App& app, int* threads);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_OPTIONS_H_

// Runs cases outside of a test: one again that failed, an operation's, or those of a kernel
// of your own.
//
//   check --case 'host/pack/gfx942/dense.A=16,B=128,unit=1,by=packer' --data iota --seed 7
//   check --operation pack/gfx942/dense --backend host
//   check --operation dequantize/e4m3fn_to_f32 --kernel my.json
//   check --list
//   check --count
//
// where `check` is `./bazelw run //tests/differential:check --`. The exit code is 0 where all is
// right, 1 where a case fails, 2 for a mistake in what was asked.
//
// Paths are relative to where the command is given.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/option_values.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/text.h"
#include "tests/differential/backend.h"
#include "tests/differential/operation.h"
#include "tests/differential/own_kernel.h"
#include "tests/differential/run.h"
#include "tests/differential/shape.h"
#include "tests/differential/watch.h"

namespace lanewise::differential {
namespace {

struct Options {
  std::string operation, backend, shapes, one_case, kernel, data;
  std::uint64_t seed = 1;
  int most_failures = 3;
  int timeout = 120;
  bool list = false, count = false;
};

// For a terminal: paths and names of a description stand in messages.
std::string Text(const absl::Status& status) { return PrintableLines(StdView(status.message())); }

std::string Cases(std::int64_t count) {
  return absl::StrCat(count, count == 1 ? " case" : " cases");
}

// Of a name that there is not: what begins as it does.
absl::StatusOr<const Operation*> Find(const std::string& name) {
  if (name.empty()) {
    return InvalidArgument(
        "say which operation: --operation, --case, or --kernel with a file that names it; --list "
        "names all of them");
  }
  if (const Operation* found = FindOperation(name)) return found;
  std::string like;
  for (std::size_t size = name.size(); size > 1 && like.empty(); --size) {
    for (const Operation* operation : Operations()) {
      if (operation->name.compare(0, size, name, 0, size) != 0) continue;
      absl::StrAppend(&like, like.empty() ? "; there are " : ", ", operation->name);
    }
  }
  if (like.size() > 400) like = "; more than a few begin so";
  return InvalidArgument("there is no operation '", name, "'", like, " (--list names all)");
}

std::string Names(std::span<const Data> kinds) {
  std::string names;
  for (const Data data : kinds) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", AbslView(DataName(data)));
  }
  return names;
}

// Where the operation runs: "host, emulator_gfx942".
std::string BackendsOf(const Operation& operation) {
  std::string names = operation.host ? std::string(kHost) : "";
  if (!operation.device) return names;
  for (const std::string& chip : operation.chips) {
    if (chip.substr(0, 3) != "gfx") continue;  // no emulator
    absl::StrAppend(&names, names.empty() ? "" : ", ", "emulator_", chip);
  }
  return absl::StrCat(names, ", ", AbslView(kGpu));
}

// "backend/operation.shape" into options.
absl::Status ReadCase(Options& options) {
  const std::size_t slash = options.one_case.find('/');
  const std::size_t dot = options.one_case.rfind('.');
  if (slash == std::string::npos || dot == std::string::npos || dot < slash) {
    return InvalidArgument("--case '", options.one_case, "': expected backend/operation.shape");
  }
  const auto take = [&](const char* option, std::string& value, const std::string& of_case) {
    if (!value.empty() && value != of_case) {
      return InvalidArgument(option, " '", value, "': --case says '", of_case, "'");
    }
    value = of_case;
    return absl::OkStatus();
  };
  absl::Status status = take("--backend", options.backend, options.one_case.substr(0, slash));
  status.Update(
      take("--operation", options.operation, options.one_case.substr(slash + 1, dot - slash - 1)));
  status.Update(take("--shapes", options.shapes, options.one_case.substr(dot + 1)));
  return status;
}

void List() {
  for (const Operation* operation : Operations()) {
    std::string dimensions;
    for (const Dimension& dimension : operation->dimensions) {
      absl::StrAppend(&dimensions, " ", dimension.name);
    }
    std::printf("%-40s%s%s;%s\n", operation->name.c_str(), operation->host ? " host" : "",
                operation->device ? " device" : "", dimensions.c_str());
    for (const Argument& argument : operation->arguments) {
      std::string extents;
      for (const std::string& extent : argument.extents) {
        absl::StrAppend(&extents, extents.empty() ? "" : ", ", extent);
      }
      std::printf("    %-10s %-8s [%s]\n", argument.name.c_str(), argument.format.c_str(),
                  extents.c_str());
    }
  }
}

// How many cases the test of each backend has, as the table in docs/testing.md; of those that are
// not there, why.
absl::Status Count(std::uint64_t seed) {
  std::printf(
      "| backend | operations | cases | cases with their kinds of data |\n|---|---|---|---|\n");
  for (const std::string_view name : kBackends) {
    const std::string text(name);
    const absl::StatusOr<Backend> backend = OpenBackend(name);
    if (!backend.ok()) {
      std::printf("%s: %s\n", text.c_str(), Text(backend.status()).c_str());
      continue;
    }
    std::size_t operations = 0, cases = 0, kinds = 0;
    for (const Operation* operation : Operations()) {
      if (!ImplementationOf(*operation, *backend)) continue;
      LANEWISE_ASSIGN_OR_RETURN(const std::vector<Shape> shapes,
                                ParseShapes(operation->shapes, operation->dimensions, seed));
      ++operations;
      cases += shapes.size();
      kinds += shapes.size() * operation->data.size();
    }
    std::printf("| %s | %zu | %zu | %zu |\n", text.c_str(), operations, cases, kinds);
  }
  return absl::OkStatus();
}

// The number of failures.
absl::StatusOr<int> Check(Options options) {
  if (!options.one_case.empty()) {
    LANEWISE_RETURN_IF_ERROR(ReadCase(options));
  }
  std::optional<Data> only;
  if (!options.data.empty()) {
    only = FindData(options.data);
    if (!only) {
      return InvalidArgument("--data '", options.data, "': expected one of ", Names(kAllData));
    }
  }
  std::optional<OwnKernel> own;
  if (!options.kernel.empty()) {
    LANEWISE_ASSIGN_OR_RETURN(
        OwnKernel read, ReadOwnKernel(options.kernel, options.operation, options.backend == kGpu));
    own.emplace(std::move(read));
    if (!options.backend.empty() && options.backend != own->backend) {
      return InvalidArgument("backend '", options.backend, "': what ", options.kernel,
                             " describes runs on ", own->backend);
    }
    options.backend = own->backend;
    options.operation = own->operation->name;
  }
  LANEWISE_ASSIGN_OR_RETURN(const Operation* const operation, Find(options.operation));
  const std::vector<Data>& listed = operation->data;
  if (only && std::find(listed.begin(), listed.end(), *only) == listed.end()) {
    return InvalidArgument("--data '", options.data, "': ", options.operation, " has ",
                           Names(listed));
  }
  // Where nothing is said: the host, if there is an implementation, else the emulator.
  if (options.backend.empty()) {
    options.backend =
        operation->host ? std::string(kHost) : absl::StrCat("emulator_", operation->chips.front());
  }
  LANEWISE_ASSIGN_OR_RETURN(const Backend backend, OpenBackend(options.backend));
  std::optional<Implementation> implementation =
      ImplementationOf(own ? *own->operation : *operation, backend);
  if (!implementation) {
    return NotFound(options.operation, " has no implementation for ", backend.name, "; it runs on ",
                    BackendsOf(*operation));
  }
  if (own && own->load) {
    LANEWISE_RETURN_IF_ERROR(own->load(*backend.device));
  }
  if (own) WatchCases(options.timeout);
  if (own) implementation->can_refuse = own->backend == kHost;
  if (own) implementation->repeat = absl::StrCat(" --kernel ", options.kernel);
  absl::StatusOr<std::vector<Shape>> shapes = std::vector<Shape>();
  if (options.one_case.empty()) {
    shapes =
        ParseShapes(options.shapes.empty() ? implementation->operation->shapes : options.shapes,
                    implementation->operation->dimensions, options.seed);
    if (shapes.ok() && own) {
      shapes->erase(std::remove_if(shapes->begin(), shapes->end(),
                                   [&](const Shape& shape) { return !own->Matches(shape); }),
                    shapes->end());
      if (shapes->empty()) {
        return InvalidArgument(options.kernel, ": field 'where': no shape has these values");
      }
    }
  } else {
    LANEWISE_ASSIGN_OR_RETURN(const Shape shape,
                              ParseShape(options.shapes, implementation->operation->dimensions));
    shapes->push_back(shape);
  }
  if (!shapes.ok()) return shapes.status();
  int failures = 0;
  std::int64_t cases = 0, kinds = 0;
  for (const Shape& shape : *shapes) {
    ++cases;
    if (own) {
      const std::string name = absl::StrCat(SuiteName(*implementation), ".", shape.Text());
      CaseBegins(absl::StrCat(name, ", seed ", options.seed),
                 absl::StrCat("./bazelw run //tests/differential:check -- --case '", name,
                              "' --seed ", options.seed, implementation->repeat));
    }
    const absl::Status status = RunCase(*implementation, shape, options.seed, {}, &kinds, only);
    if (status.ok()) continue;
    std::printf("%s\n", Text(status).c_str());
    if (++failures == options.most_failures) break;
  }
  if (own) CasesEnd();
  std::printf("%s: %s, %lld with their kinds of data, seed %llu: %s\n",
              SuiteName(*implementation).c_str(), Cases(cases).c_str(),
              static_cast<long long>(kinds), static_cast<unsigned long long>(options.seed),
              failures == 0 ? "all right" : absl::StrCat(failures, " failed").c_str());
  return failures;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Checks implementations of operations against the reference.", "check");
  app.footer(
      "Exit status: 0 all right, 1 a case fails, 2 a mistake in what was asked.\n"
      "docs/testing.md says what a case is, and how its name and its shape are written.");
  app.add_option("--operation", options.operation,
                 "The operation, such as pack/gfx942/dense (--list names all)")
      ->type_name("NAME")
      ->check(NotEmpty());
  app.add_option("--backend", options.backend,
                 "host, emulator_gfx942, emulator_gfx950 or gpu. Default the first of them that "
                 "the operation runs on")
      ->type_name("BACKEND")
      ->check(NotEmpty());
  app.add_option("--shapes", options.shapes,
                 "Shapes in place of the operation's own, such as 'A=16 B=128,256 unit=1 "
                 "by=packer': a name and its values for each dimension")
      ->type_name("SHAPES")
      ->check(NotEmpty());
  app.add_option("--case", options.one_case,
                 "One case, backend/operation.shape, as a failure names it")
      ->type_name("CASE")
      ->check(NotEmpty());
  app.add_option("--kernel", options.kernel,
                 "A JSON file that describes your own kernel or function "
                 "(examples/own_kernel, tests/differential/own_kernel.h)")
      ->type_name("FILE")
      ->check(NotEmpty());
  app.add_option("--data", options.data,
                 "One kind of data, such as 'random bits'. Default all that the operation has")
      ->type_name("KIND")
      ->check(NotEmpty());
  app.add_option("--seed", options.seed, "Of shapes and data. Default 1")
      ->type_name("N")
      ->check(Seed());
  app.add_option("--most-failures", options.most_failures,
                 "After how many failures to stop; 0: after none. Default 3")
      ->type_name("N")
      ->check(WholeNumber(0, std::numeric_limits<int>::max()));
  app.add_option("--timeout", options.timeout,
                 "Seconds that a case of your own kernel may take; 0: any. Default 120")
      ->type_name("SECONDS")
      ->check(WholeNumber(0, 86400));
  app.add_flag("--list", options.list, "List operations, dimensions and arguments");
  app.add_flag("--count", options.count, "Count the operations and cases of each backend");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  // bazel run starts elsewhere than where the command was given.
  const char* const directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && !options.kernel.empty() && options.kernel[0] != '/') {
    options.kernel = absl::StrCat(directory, "/", options.kernel);
  }
  if (options.list) {
    List();
    return 0;
  }
  if (options.count) {
    const absl::Status status = Count(options.seed);
    if (!status.ok()) std::fprintf(stderr, "%s\n", Text(status).c_str());
    return status.ok() ? 0 : 2;
  }
  const absl::StatusOr<int> failures = Check(options);
  if (!failures.ok()) {
    std::fprintf(stderr, "%s\n", Text(failures.status()).c_str());
    return 2;
  }
  return *failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lanewise::differential

int main(int argc, char** argv) { return lanewise::differential::Main(argc, argv); }

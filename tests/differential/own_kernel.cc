#include "tests/differential/own_kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "hip/embedded_code_object.h"
#include "hip/runtime/module.h"
#include "nlohmann/json.hpp"
#include "tests/differential/expression.h"

namespace lanewise::differential {
namespace {

using nlohmann::json;

// A pointer, or a number of that many bytes.
struct Passed {
  std::string buffer;
  std::string expression;
  int bytes = 0;
};

struct Description {
  std::string operation, code_object, arch, kernel, library, function, dynamic_lds = "0";
  std::vector<std::string> grid, block;
  std::vector<Passed> arguments;
  std::map<std::string, std::string> where;
};

absl::StatusOr<std::int64_t> Value(const std::string& expression, const Shape& shape) {
  return Evaluate(expression, [&](std::string_view name) { return shape.Find(name); });
}

// Reads fields, and keeps the first error, which names the field.
class Reader {
 public:
  Reader(const json& object, std::string path) : object_(object), path_(std::move(path)) {}

  void Fail(std::string_view field, std::string_view what) {
    if (error_.ok()) {
      error_ = InvalidArgument(path_, ": field '", field, "': ", what);
    }
  }
  const absl::Status& error() const { return error_; }

  const json* Get(const std::string& field) {
    known_.insert(field);
    const auto found = object_.find(field);
    return found == object_.end() ? nullptr : &*found;
  }
  std::string Text(const std::string& field, bool required) {
    const json* const value = Get(field);
    if (value == nullptr) {
      if (required) Fail(field, "is missing");
      return "";
    }
    if (!value->is_string()) {
      Fail(field, absl::StrCat("expected a string, found ", value->dump()));
      return "";
    }
    return value->get<std::string>();
  }
  // A string or a whole number.
  std::string Expression(const std::string& field, const json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_unsigned()) return absl::StrCat(value.get<std::uint64_t>());
    if (value.is_number_integer()) return absl::StrCat(value.get<std::int64_t>());
    Fail(field, absl::StrCat("expected an expression or a number, found ", value.dump()));
    return "0";
  }
  std::vector<std::string> Sizes(const std::string& field) {
    std::vector<std::string> sizes;
    const json* const value = Get(field);
    if (value == nullptr) {
      Fail(field, "is missing");
    } else if (!value->is_array() || value->empty() || value->size() > 3) {
      Fail(field, absl::StrCat("expected 1 to 3 expressions, found ", value->dump()));
    } else {
      for (const json& size : *value) sizes.push_back(Expression(field, size));
    }
    sizes.resize(3, "1");
    return sizes;
  }
  void CheckUnknown() {
    for (const auto& [field, value] : object_.items()) {
      if (known_.count(field) == 0) Fail(field, "is no field of a kernel");
    }
  }

 private:
  const json& object_;
  std::string path_;
  std::set<std::string> known_;
  absl::Status error_;
};

void ReadArguments(Reader& reader, Description& description) {
  const json* const arguments = reader.Get("arguments");
  if (arguments == nullptr || !arguments->is_array()) {
    reader.Fail("arguments", arguments == nullptr ? "is missing" : "expected an array");
    return;
  }
  for (std::size_t i = 0; i < arguments->size(); ++i) {
    const json& argument = (*arguments)[i];
    const std::string field = absl::StrCat("arguments[", i, "]");
    if (argument.is_string()) {
      description.arguments.push_back({argument.get<std::string>(), "", 8});
    } else if (argument.is_object() && argument.size() == 1 &&
               (argument.contains("i32") || argument.contains("i64"))) {
      const bool narrow = argument.contains("i32");
      description.arguments.push_back(
          {"", reader.Expression(field, argument.begin().value()), narrow ? 4 : 8});
    } else {
      reader.Fail(field, absl::StrCat("expected an argument's name, {\"i32\": expression} or "
                                      "{\"i64\": expression}, found ",
                                      argument.dump()));
    }
  }
}

// Everything that the operation must have. An expression is refused only where it has no value for
// any of the operation's shapes: one that a shape does not suit, such as "M / (K / 32)" for K = 16,
// fails that case, unless the reference refuses it too.
void CheckAgainst(const Operation& operation, Reader& reader, const Description& description) {
  std::string names;
  const absl::StatusOr<std::vector<Shape>> shapes =
      ParseShapes(operation.shapes, operation.dimensions, 1);
  if (!shapes.ok()) {
    reader.Fail("operation", StdView(shapes.status().message()));
    return;
  }
  for (const Argument& a : operation.arguments)
    absl::StrAppend(&names, names.empty() ? "" : ", ", a.name);
  const auto check = [&](const std::string& field, const std::string& expression) {
    std::string mistake;
    for (const Shape& shape : *shapes) {
      const absl::StatusOr<std::int64_t> value = Value(expression, shape);
      if (value.ok()) return;
      if (mistake.empty()) mistake = std::string(StdView(value.status().message()));
    }
    reader.Fail(field, mistake);
  };
  for (std::size_t i = 0; i < description.arguments.size(); ++i) {
    const Passed& passed = description.arguments[i];
    const std::string field = absl::StrCat("arguments[", i, "]");
    if (passed.buffer.empty()) {
      check(field, passed.expression);
      continue;
    }
    const bool found = std::any_of(operation.arguments.begin(), operation.arguments.end(),
                                   [&](const Argument& a) { return a.name == passed.buffer; });
    if (!found) {
      reader.Fail(field, absl::StrCat(operation.name, " has no argument '", passed.buffer,
                                      "'; it has ", names));
    }
  }
  for (const std::string& size : description.grid) check("grid", size);
  for (const std::string& size : description.block) check("block", size);
  check("dynamic_lds", description.dynamic_lds);
  for (const auto& [name, value] : description.where) {
    if (std::none_of(operation.dimensions.begin(), operation.dimensions.end(),
                     [&name = name](const Dimension& d) { return d.name == name; })) {
      reader.Fail("where", absl::StrCat(operation.name, " has no dimension '", name, "'"));
    }
  }
}

std::string Beside(const std::string& path, const std::string& file) {
  const std::size_t slash = path.rfind('/');
  if (file.empty() || file[0] == '/') return file;
  // With a slash, or dlopen looks where libraries are installed.
  return (slash == std::string::npos ? "./" : path.substr(0, slash + 1)) + file;
}

absl::StatusOr<Function> FromLibrary(const std::string& path, const Description& description) {
  const std::string file = Beside(path, description.library);
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return InvalidArgument(path, ": field 'library': ", dlerror());
  }
  using CFunction = int (*)(void* const*, const std::int64_t*);
  const auto function = reinterpret_cast<CFunction>(dlsym(library, description.function.c_str()));
  if (function == nullptr) {
    return InvalidArgument(path, ": field 'function': ", dlerror());
  }
  return Function([function, arguments = description.arguments](const Call& call) -> absl::Status {
    std::vector<void*> buffers;
    std::vector<std::int64_t> numbers;
    for (const Passed& passed : arguments) {
      if (!passed.buffer.empty()) {
        buffers.push_back(call.Data(passed.buffer));
        continue;
      }
      LANEWISE_ASSIGN_OR_RETURN(const std::int64_t value, Value(passed.expression, *call.shape));
      numbers.push_back(value);
    }
    const int result = function(buffers.data(), numbers.data());
    if (result == 0) return absl::OkStatus();
    return InvalidArgument("the function returns ", result);
  });
}

absl::Status LaunchOwn(const hip::Kernel& kernel, const Description& description,
                       const Call& call) {
  std::vector<std::vector<std::uint8_t>> arguments;
  for (const Passed& passed : description.arguments) {
    std::int64_t value = 0;
    if (passed.buffer.empty()) {
      LANEWISE_ASSIGN_OR_RETURN(const std::int64_t number, Value(passed.expression, *call.shape));
      value = number;
      if (passed.bytes == 4 && value != static_cast<std::int32_t>(value)) {
        return InvalidArgument(value, " does not fit an i32");
      }
    } else {
      value = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(call.Data(passed.buffer)));
    }
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&value);
    arguments.emplace_back(bytes, bytes + passed.bytes);
  }
  std::uint32_t sizes[7] = {};
  std::vector<std::string> expressions = description.grid;
  expressions.insert(expressions.end(), description.block.begin(), description.block.end());
  expressions.push_back(description.dynamic_lds);
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    LANEWISE_ASSIGN_OR_RETURN(const std::int64_t size, Value(expressions[i], *call.shape));
    if (size == 0 && i < 6) return absl::OkStatus();  // no work
    if (size < 0 || size > INT32_MAX) {
      return InvalidArgument("'", expressions[i], "' is ", size, ", which is no size of a launch");
    }
    sizes[i] = static_cast<std::uint32_t>(size);
  }
  return kernel.LaunchBytes({.grid = {sizes[0], sizes[1], sizes[2]},
                             .block = {sizes[3], sizes[4], sizes[5]},
                             .dynamic_lds = sizes[6]},
                            *call.stream, arguments);
}

// The bytes, and from the first use on the kernel.
class LoadedKernel {
 public:
  LoadedKernel(std::string path, const Description& description, std::vector<std::uint8_t> bytes)
      : path_(std::move(path)), description_(description), bytes_(std::move(bytes)) {}

  // Once: names the field at fault.
  absl::Status Load(const hip::Device& device) {
    if (kernel_) return absl::OkStatus();
    const hip::EmbeddedCodeObject object = {"own", description_.arch, bytes_};
    absl::StatusOr<hip::Module> module = hip::Module::Load({&object, 1}, device);
    if (!module.ok()) return Error("code_object", module.status());
    module_.emplace(*std::move(module));
    absl::StatusOr<hip::Kernel> kernel = module_->Find(description_.kernel);
    if (!kernel.ok()) return Error("kernel", kernel.status());
    kernel_.emplace(*std::move(kernel));
    return absl::OkStatus();
  }
  absl::Status Run(const Call& call) {
    LANEWISE_RETURN_IF_ERROR(Load(*call.device));
    return LaunchOwn(*kernel_, description_, call);
  }

 private:
  absl::Status Error(const char* field, const absl::Status& status) const {
    return Internal(path_, ": field '", field, "': ", std::string(StdView(status.message())));
  }

  std::string path_;
  Description description_;
  std::vector<std::uint8_t> bytes_;
  std::optional<hip::Module> module_;
  std::optional<hip::Kernel> kernel_;
};

absl::StatusOr<std::shared_ptr<LoadedKernel>> FromCodeObject(const std::string& path,
                                                             const Description& description) {
  const std::string file = Beside(path, description.code_object);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return InvalidArgument(path, ": field 'code_object': cannot read ", file);
  }
  return std::make_shared<LoadedKernel>(
      path, description,
      std::vector<std::uint8_t>(std::istreambuf_iterator<char>(stream),
                                std::istreambuf_iterator<char>()));
}

}  // namespace

bool OwnKernel::Matches(const Shape& shape) const {
  return std::all_of(where.begin(), where.end(), [&](const auto& wanted) {
    return std::any_of(shape.values().begin(), shape.values().end(), [&](const Shape::Value& v) {
      return v.name == wanted.first && v.text == wanted.second;
    });
  });
}

absl::StatusOr<OwnKernel> ReadOwnKernel(const std::string& path, const std::string& operation_name,
                                        bool on_gpu) {
  std::ifstream stream(path);
  if (!stream) return NotFound("cannot read ", path);
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  json object;
  // Of a key that is there twice the parser would keep one and say nothing.
  std::vector<std::set<std::string>> open;
  std::string twice;
  const auto note_keys = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key) {
      const std::string key = parsed.get<std::string>();
      if (!open.back().insert(key).second && twice.empty()) twice = key;
    }
    return true;
  };
  try {
    object = json::parse(text, note_keys);
  } catch (const json::parse_error& error) {
    return InvalidArgument(path, ": ", error.what());
  }
  if (!twice.empty()) return InvalidArgument(path, ": field '", twice, "': is there twice");
  if (!object.is_object()) return InvalidArgument(path, ": no JSON object");

  Reader reader(object, path);
  Description description;
  description.operation = reader.Text("operation", operation_name.empty());
  if (description.operation.empty()) description.operation = operation_name;
  if (!operation_name.empty() && description.operation != operation_name) {
    reader.Fail("operation", absl::StrCat("is ", description.operation, ", not ", operation_name));
  }
  const bool library = reader.Get("library") != nullptr;
  if (library) {
    description.library = reader.Text("library", true);
    description.function = reader.Text("function", true);
  } else {
    description.code_object = reader.Text("code_object", true);
    description.arch = reader.Text("arch", true);
    description.kernel = reader.Text("kernel", true);
    if (!on_gpu && !description.arch.empty() && description.arch != "gfx942" &&
        description.arch != "gfx950") {
      reader.Fail("arch",
                  absl::StrCat("is ", description.arch, ", the emulator has gfx942 and gfx950"));
    }
    description.grid = reader.Sizes("grid");
    description.block = reader.Sizes("block");
    if (const json* const lds = reader.Get("dynamic_lds")) {
      description.dynamic_lds = reader.Expression("dynamic_lds", *lds);
    }
  }
  ReadArguments(reader, description);
  if (const json* const where = reader.Get("where")) {
    if (!where->is_object()) reader.Fail("where", "expected an object");
    for (const auto& [name, value] : where->items()) {
      description.where[name] = reader.Expression("where", value);
    }
  }
  reader.CheckUnknown();
  if (!reader.error().ok()) return reader.error();
  const Operation* const operation = FindOperation(description.operation);
  if (operation == nullptr) {
    reader.Fail("operation", absl::StrCat("there is no '", description.operation, "'"));
    return reader.error();
  }
  CheckAgainst(*operation, reader, description);
  if (!reader.error().ok()) return reader.error();

  OwnKernel own;
  own.operation = std::make_unique<Operation>(*operation);
  own.operation->host = Function();
  own.operation->device = Function();
  if (library) {
    LANEWISE_ASSIGN_OR_RETURN(const Function function, FromLibrary(path, description));
    own.operation->host = function;
  } else {
    LANEWISE_ASSIGN_OR_RETURN(const std::shared_ptr<LoadedKernel> kernel,
                              FromCodeObject(path, description));
    own.operation->device = [kernel](const Call& call) { return kernel->Run(call); };
    own.load = [kernel](const hip::Device& device) { return kernel->Load(device); };
  }
  own.operation->chips = {description.arch};
  own.backend = library  ? std::string(kHost)
                : on_gpu ? std::string(kGpu)
                         : absl::StrCat("emulator_", description.arch);
  own.where = description.where;
  return own;
}

}  // namespace lanewise::differential

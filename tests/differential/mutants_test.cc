// The tests of the tests: every implementation with one thing done wrong on purpose. A mutation
// stands for a mistake of the implementation: it changes what it reads or what it leaves. Each has
// to be caught, and the table says by which case. A mutant that changes no byte in any case tried,
// such as zeros of the wrong sign where there is no zero, is no mistake there; it is counted apart.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/differential/backend.h"
#include "tests/differential/data.h"
#include "tests/differential/operation.h"
#include "tests/differential/run.h"
#include "tests/differential/shape.h"

namespace lanewise::differential {
namespace {

struct Mutant {
  std::string name;
  Tampering tampering;
};

bool IsOutput(const Image& image) { return image.argument->role == Role::kOutput; }
std::int64_t Elements(const Image& image) {
  return image.bytes * 8 / FormatBits(image.argument->format);
}

// A mutant whose `change` is given each output of some size after each run.
Mutant OfOutputs(std::string name, std::function<void(int run, Image&)> change) {
  return {std::move(name), {.after = [change](int run, std::vector<Image>& images) {
            for (Image& image : images) {
              if (IsOutput(image) && image.bytes > 0) change(run, image);
            }
          }}};
}

// A mutant that changes element i of the inputs of one bits' width.
Mutant OfInput(std::string name, std::string input,
               std::function<std::uint32_t(Image&, std::int64_t i)> element) {
  return {std::move(name), {.before = [=](std::vector<Image>& images) {
            for (Image& image : images) {
              if (image.argument->name != input) continue;
              Image before = image;
              const int bits = FormatBits(image.argument->format);
              for (std::int64_t i = 0; i < Elements(image); ++i) {
                SetBits(bits, image.data(), i, element(before, i));
              }
            }
          }}};
}

std::uint32_t Code(Image& image, std::int64_t i) {
  return GetBits(FormatBits(image.argument->format), image.data(), i);
}

std::int64_t Columns(const Operation& operation, const Shape& shape, const Image& image) {
  const auto operands = OperandsOf(operation, shape);
  if (!operands.ok()) return 0;
  for (const Operand& operand : *operands) {
    if (operand.argument == image.argument && !operand.extents.empty()) {
      return operand.extents.back();
    }
  }
  return 0;
}

bool IsFloat(const std::string& format) {
  return format == "f32" || format == "bf16" || format == "f16";
}

// Rounded to half of the format's fraction bits, nearest-even; NaN and infinities as they are.
std::uint32_t Narrower(const std::string& format, std::uint32_t code) {
  const int dropped = format == "f32" ? 16 : format == "f16" ? 5 : 4;
  const int bits = FormatBits(format);
  const double value = CodeValue(format, code);
  if (!std::isfinite(value)) return code;
  const std::uint32_t half = 1u << (dropped - 1);
  const std::uint32_t odd = code >> dropped & 1;
  const std::uint32_t rounded = (code + half - 1 + odd) >> dropped << dropped;
  // A carry into the sign would be no rounding.
  return rounded >> (bits - 1) == code >> (bits - 1) ? rounded : code;
}

std::vector<Mutant> MutantsOf(const Operation& operation, const Shape*& shape) {
  std::vector<Mutant> mutants;
  const auto shifted = [](Image& image, std::int64_t by) {
    Image before = image;
    const int bits = FormatBits(image.argument->format);
    const std::int64_t n = Elements(image);
    for (std::int64_t i = 0; i < n; ++i) {
      SetBits(bits, image.data(), i, Code(before, (i + by) % n));
    }
  };
  mutants.push_back(OfOutputs("one index off", [=](int, Image& image) { shifted(image, 1); }));
  mutants.push_back(OfOutputs("sixteen indices off", [=](int, Image& i) { shifted(i, 16); }));
  mutants.push_back(OfOutputs("one code off, in the last element", [](int, Image& image) {
    const std::int64_t last = Elements(image) - 1;
    SetBits(FormatBits(image.argument->format), image.data(), last, Code(image, last) ^ 1);
  }));
  mutants.push_back(OfOutputs("two rows swapped", [&operation, &shape](int, Image& image) {
    const std::int64_t columns = Columns(operation, *shape, image);
    const int bits = FormatBits(image.argument->format);
    if (columns == 0 || Elements(image) < 2 * columns) return;
    const std::int64_t last = (Elements(image) / columns - 1) * columns;
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::uint32_t first = Code(image, i);
      SetBits(bits, image.data(), i, Code(image, last + i));
      SetBits(bits, image.data(), last + i, first);
    }
  }));
  mutants.push_back(OfOutputs("last row not written", [&operation, &shape](int run, Image& image) {
    const std::int64_t columns = Columns(operation, *shape, image);
    const std::int64_t bytes = columns * FormatBits(image.argument->format) / 8;
    std::fill_n(image.data() + image.bytes - std::min(bytes, image.bytes),
                std::min(bytes, image.bytes), run == 0 ? 0xA5 : 0x5A);
  }));
  mutants.push_back(OfOutputs("last byte not written", [](int run, Image& image) {
    image.data()[image.bytes - 1] = run == 0 ? 0xA5 : 0x5A;
  }));
  mutants.push_back(OfOutputs("nothing written", [](int run, Image& image) {
    std::fill_n(image.data(), image.bytes, run == 0 ? 0xA5 : 0x5A);
  }));
  mutants.push_back(OfOutputs("second run differs in a bit", [](int run, Image& image) {
    if (run == 1) image.data()[0] ^= 1;
  }));
  mutants.push_back({"a byte before a buffer", {.after = [](int, std::vector<Image>& images) {
                       for (Image& i : images) {
                         if (i.guard > 0) i.all[static_cast<std::size_t>(i.guard - 1)] = 0;
                       }
                     }}});
  mutants.push_back({"a byte behind a buffer", {.after = [](int, std::vector<Image>& images) {
                       for (Image& i : images) {
                         if (i.guard > 0) i.data()[i.bytes] = 0;
                       }
                     }}});
  mutants.push_back({"an input changed", {.after = [](int, std::vector<Image>& images) {
                       for (Image& i : images) {
                         if (!IsOutput(i) && i.bytes > 0) i.data()[i.bytes - 1] ^= 0x10;
                       }
                     }}});
  bool floats = false, nibbles = false;
  for (const Argument& argument : operation.arguments) {
    if (argument.role != Role::kOutput) continue;
    floats |= IsFloat(argument.format);
    nibbles |= argument.format == "e2m1";
  }
  if (nibbles) {
    mutants.push_back(OfOutputs("wrong nibble order", [](int, Image& image) {
      if (image.argument->format != "e2m1") return;
      for (std::int64_t i = 0; i < image.bytes; ++i) {
        image.data()[i] = static_cast<std::uint8_t>(image.data()[i] << 4 | image.data()[i] >> 4);
      }
    }));
  }
  if (floats) {
    mutants.push_back(OfOutputs("rounded to a narrower format", [](int, Image& image) {
      if (!IsFloat(image.argument->format)) return;
      for (std::int64_t i = 0; i < Elements(image); ++i) {
        SetBits(FormatBits(image.argument->format), image.data(), i,
                Narrower(image.argument->format, Code(image, i)));
      }
    }));
    // As truncation in the last place does, in about every second element.
    mutants.push_back(OfOutputs("rounded toward zero", [](int, Image& image) {
      const int bits = FormatBits(image.argument->format);
      if (!IsFloat(image.argument->format)) return;
      for (std::int64_t i = 0; i < Elements(image); i += 2) {
        const std::uint32_t code = Code(image, i);
        const double value = CodeValue(image.argument->format, code);
        if (std::isfinite(value) && value != 0) SetBits(bits, image.data(), i, code - 1);
      }
    }));
    mutants.push_back(OfOutputs("zeros of the wrong sign", [](int, Image& image) {
      const int bits = FormatBits(image.argument->format);
      if (bits < 16) return;
      for (std::int64_t i = 0; i < Elements(image); ++i) {
        if (Code(image, i) << (33 - bits) == 0) {
          SetBits(bits, image.data(), i, Code(image, i) ^ 1u << (bits - 1));
        }
      }
    }));
  }
  for (const Argument& argument : operation.arguments) {
    if (argument.role != Role::kInput) continue;
    const std::string& name = argument.name;
    // The kernel reads the prepared forms of these, which are changed themselves.
    if (operation.name == "gfx942/dense_gemv" && (name == "w8" || name == "scale")) continue;
    mutants.push_back(
        OfInput(absl::StrCat("reads ", name, " one off"), name, [](Image& image, std::int64_t i) {
          return Code(image, std::min(i + 1, Elements(image) - 1));
        }));
    mutants.push_back({absl::StrCat("drops the tail of ", name),
                       {.before = [&operation, &shape, name](std::vector<Image>& images) {
                         for (Image& image : images) {
                           if (image.argument->name != name) continue;
                           const std::int64_t columns = Columns(operation, *shape, image);
                           const std::int64_t tail = std::min<std::int64_t>(32, (columns + 1) / 2);
                           for (std::int64_t i = 0; i < Elements(image); ++i) {
                             if (i % columns < columns - tail) continue;
                             SetBits(FormatBits(image.argument->format), image.data(), i, 0);
                           }
                         }
                       }}});
    if (argument.format == "e8m0") {
      mutants.push_back(OfInput(absl::StrCat("scale codes of ", name, " one off"), name,
                                [](Image& image, std::int64_t i) {
                                  const std::uint32_t code = Code(image, i);
                                  return code < 249 ? code + 1 : code;
                                }));
    }
    if (argument.format == "e2m1") {
      mutants.push_back(OfInput(absl::StrCat("nibbles of ", name, " swapped"), name,
                                [](Image& image, std::int64_t i) { return Code(image, i ^ 1); }));
    }
    if (argument.format == "f32" || argument.format == "bf16") {
      mutants.push_back(OfInput(absl::StrCat("truncates ", name, " to fewer bits"), name,
                                [](Image& image, std::int64_t i) {
                                  return Code(image, i) &
                                         (image.argument->format == "f32" ? 0xFFFF0000u : 0xFFF0u);
                                }));
      mutants.push_back(
          OfInput(absl::StrCat("loses the sign of ", name), name, [](Image& image, std::int64_t i) {
            return Code(image, i) & (image.argument->format == "f32" ? 0x7FFFFFFFu : 0x7FFFu);
          }));
    }
  }
  return mutants;
}

// The mutant's name with "an input" in place of the input's.
std::string KindOf(const Mutant& mutant, const Operation& operation) {
  const std::string text = mutant.name + " ";
  for (const Argument& argument : operation.arguments) {
    if (argument.role != Role::kInput) continue;
    const std::string word = " " + argument.name + " ";
    const std::size_t at = text.find(word);
    // Names such as "a" and "codes" are words of other mutants too.
    const bool named = text.find("reads" + word) == 0 || text.find("of" + word) != text.npos ||
                       text.find("truncates" + word) == 0;
    if (!named || at == text.npos) continue;
    const std::size_t last = text.rfind(word);
    const std::string kind = text.substr(0, last) + " an input " + text.substr(last + word.size());
    return kind.substr(0, kind.size() - 1);
  }
  return mutant.name;
}

bool SameBytes(const std::vector<Image>& a, const std::vector<Image>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].all != b[i].all) return false;
  }
  return true;
}

// The same, which sets `changed` where a byte becomes another one.
Tampering Watched(const Tampering& tampering, bool* changed) {
  Tampering watched;
  if (tampering.before) {
    watched.before = [=](std::vector<Image>& images) {
      const std::vector<Image> was = images;
      tampering.before(images);
      *changed |= !SameBytes(was, images);
    };
  }
  if (tampering.after) {
    watched.after = [=](int run, std::vector<Image>& images) {
      const std::vector<Image> was = images;
      tampering.after(run, images);
      *changed |= !SameBytes(was, images);
    };
  }
  return watched;
}

class Mutants : public testing::TestWithParam<const char*> {};

TEST_P(Mutants, NoneSurvives) {
  const absl::StatusOr<Backend> backend = OpenBackend(GetParam());
  ASSERT_TRUE(backend.ok()) << backend.status();
  int killed = 0, equivalent = 0;
  // Of each kind of mutant, of whatever argument: how many were caught, and where the last was.
  std::map<std::string, std::pair<int, std::string>> kinds;
  for (const Operation* operation : Operations()) {
    const std::optional<Implementation> implementation = ImplementationOf(*operation, *backend);
    if (!implementation) continue;
    const auto shapes = ParseShapes(operation->shapes, operation->dimensions, 1);
    ASSERT_TRUE(shapes.ok()) << shapes.status();
    const Shape* current = nullptr;
    for (const Mutant& mutant : MutantsOf(*operation, current)) {
      std::string killer;
      bool changed = false;
      const Tampering tampering = Watched(mutant.tampering, &changed);
      int tried = 0;
      for (const Shape& shape : *shapes) {
        if (++tried > 12) break;
        current = &shape;
        if (!RunCase(*implementation, shape, 1, tampering).ok()) {
          killer = shape.Text();
          break;
        }
      }
      // Nothing was done wrong: of numbers without a zero, say, no sign of a zero.
      if (killer.empty() && !changed) {
        ++equivalent;
        std::printf("%-32s %-36s changes no byte\n", operation->name.c_str(), mutant.name.c_str());
        continue;
      }
      if (killer.empty()) {
        ADD_FAILURE() << operation->name << ": '" << mutant.name << "' survives";
        continue;
      }
      ++killed;
      auto& [count, where] = kinds[KindOf(mutant, *operation)];
      if (++count == 1) where = absl::StrCat(operation->name, ".", killer);
      std::printf("%-32s %-36s %s\n", operation->name.c_str(), mutant.name.c_str(), killer.c_str());
    }
  }
  EXPECT_GT(killed, 0);
  for (const auto& [kind, caught] : kinds) {
    std::printf("| %s | %d | `%s` |\n", kind.c_str(), caught.first, caught.second.c_str());
  }
  std::printf("%s: %d mutants caught, %d that change no byte\n", GetParam(), killed, equivalent);
}

INSTANTIATE_TEST_SUITE_P(Backends, Mutants,
                         testing::Values("host", "emulator_gfx942", "emulator_gfx950"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           return std::string(info.param);
                         });

}  // namespace
}  // namespace lanewise::differential

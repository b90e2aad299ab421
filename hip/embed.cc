// Writes the header and the source of a hip_code_object's library:
//   embed PACKAGE NAME HEADER SOURCE NAME.ARCH.{hsaco,ptx}...

#include <cctype>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

// "dense_gemv" to "DenseGemv".
std::string CamelCase(const std::string& name) {
  std::string result;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    result += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return result;
}

// "out/dense_gemv.gfx942.hsaco" to "gfx942".
std::string ArchOf(const std::string& path) {
  const size_t end = path.rfind('.');
  const size_t begin = path.rfind('.', end - 1) + 1;
  return path.substr(begin, end - begin);
}

// The initializer of an array, in lines of 32.
void WriteBytes(const std::string& bytes, std::ostream& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % 32 == 0) out << (i == 0 ? "    " : "\n    ");
    const auto byte = static_cast<unsigned char>(bytes[i]);
    out << "0x" << kDigits[byte >> 4] << kDigits[byte & 15] << ',';
  }
}

bool IsPtx(const std::string& path) { return path.ends_with(".ptx"); }

// A string literal, line by line: much faster to compile than numbers.
void WriteText(const std::string& text, std::ostream& out) {
  out << "    \"";
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '\n':
        out << (i + 1 < text.size() ? "\\n\"\n    \"" : "\\n");
        break;
      case '\t':
        out << "\\t";
        break;
      case '"':
      case '\\':
        out << '\\';
        [[fallthrough]];
      default:
        out << text[i];
    }
  }
  out << '"';
}

void WriteHeader(const std::string& package, const std::string& name, std::ostream& out) {
  std::string guard = "LANEWISE_" + package + "_" + name + "_H_";
  for (char& c : guard) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  out << "#ifndef " << guard << "\n#define " << guard << "\n\n#include <span>\n\n"
      << "#include \"hip/embedded_code_object.h\"\n\nnamespace lanewise::hip {\n\n"
      << "std::span<const EmbeddedCodeObject> " << CamelCase(name) << "CodeObjects();\n\n"
      << "}  // namespace lanewise::hip\n\n#endif  // " << guard << "\n";
}

bool WriteSource(const std::string& package, const std::string& name,
                 const std::vector<std::string>& inputs, std::ostream& out) {
  out << "#include \"" << package << "/" << name << ".h\"\n\n#include <cstdint>\n\n"
      << "namespace lanewise::hip {\nnamespace {\n\n";
  for (const std::string& input : inputs) {
    std::ifstream file(input, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file) {
      std::cerr << "embed: cannot read " << input << "\n";
      return false;
    }
    if (IsPtx(input)) {
      out << "constexpr uint8_t k" << CamelCase(ArchOf(input)) << "[] =\n";
      WriteText(bytes, out);
      out << ";\n\n";
      continue;
    }
    // Aligned as a page: the loader reads ELF structures in place.
    out << "alignas(4096) constexpr uint8_t k" << CamelCase(ArchOf(input)) << "[] = {\n";
    WriteBytes(bytes, out);
    out << "\n};\n\n";
  }
  out << "constexpr EmbeddedCodeObject kObjects[] = {\n";
  for (const std::string& input : inputs) {
    const std::string array = "k" + CamelCase(ArchOf(input));
    // A literal's own zero is not the PTX's.
    out << "    {\"" << name << "\", \"" << ArchOf(input) << "\", {" << array << ", sizeof("
        << array << ")" << (IsPtx(input) ? " - 1" : "") << "}},\n";
  }
  out << "};\n\n}  // namespace\n\nstd::span<const EmbeddedCodeObject> " << CamelCase(name)
      << "CodeObjects() { return kObjects; }\n\n}  // namespace lanewise::hip\n";
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::cerr << "usage: embed PACKAGE NAME HEADER SOURCE NAME.ARCH.{hsaco,ptx}...\n";
    return 2;
  }
  const std::vector<std::string> inputs(argv + 5, argv + argc);
  std::ofstream header(argv[3]);
  WriteHeader(argv[1], argv[2], header);
  std::ofstream source(argv[4]);
  if (!WriteSource(argv[1], argv[2], inputs, source)) return 1;
  header.close();
  source.close();
  if (!header || !source) {
    std::cerr << "embed: cannot write " << argv[3] << " or " << argv[4] << "\n";
    return 1;
  }
  return 0;
}

#include "emulator/isa/dispatch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "emulator/isa/families.h"

namespace lanewise::emulator {

void HandlerTable::Add(std::string_view mnemonic, Handler handler) {
  if (!handlers_.emplace(mnemonic, handler).second) {
    std::fprintf(stderr, "two handlers for %.*s\n", static_cast<int>(mnemonic.size()),
                 mnemonic.data());
    std::abort();
  }
}

Handler HandlerTable::Find(std::string_view mnemonic) const {
  const auto found = handlers_.find(std::string(mnemonic));
  return found == handlers_.end() ? nullptr : found->second;
}

std::vector<std::string> HandlerTable::Mnemonics() const {
  std::vector<std::string> names;
  for (const auto& [name, handler] : handlers_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

const HandlerTable& HandlersFor(Arch arch) {
  static const auto* const kTables = [] {
    auto* tables = new HandlerTable[2];
    RegisterFamilies(Arch::kGfx942, tables[0]);
    RegisterFamilies(Arch::kGfx950, tables[1]);
    return tables;
  }();
  return kTables[arch == Arch::kGfx942 ? 0 : 1];
}

std::string_view BaseMnemonic(std::string_view mnemonic) {
  // LLVM's asm strings go on to the first operand, or to a constant part of the text ("off").
  mnemonic = mnemonic.substr(0, mnemonic.find(' '));
  for (std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp"}) {
    if (mnemonic.size() > suffix.size() &&
        mnemonic.substr(mnemonic.size() - suffix.size()) == suffix) {
      mnemonic.remove_suffix(suffix.size());
    }
  }
  return mnemonic;
}

}  // namespace lanewise::emulator

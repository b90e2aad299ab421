#include "emulator/isa/dispatch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "emulator/isa/families.h"

namespace lanewise::emulator {

void HandlerTable::Add(std::string_view mnemonic, Handler handler, const Traits& traits) {
  if (!entries_.emplace(mnemonic, Entry{handler, traits}).second) {
    std::fprintf(stderr, "two handlers for %.*s\n", static_cast<int>(mnemonic.size()),
                 mnemonic.data());
    std::abort();
  }
}

const HandlerTable::Entry* HandlerTable::Find(std::string_view mnemonic) const {
  const auto found = entries_.find(std::string(mnemonic));
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<std::string> HandlerTable::Mnemonics() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

const HandlerTable& HandlersFor(Arch arch) {
  static const auto* const kTables = [] {
    auto* tables = new HandlerTable[std::size(kArchs)];
    for (const ArchTraits& chip : kArchs) {
      RegisterFamilies(chip.arch, tables[static_cast<int>(chip.arch)]);
    }
    return tables;
  }();
  return kTables[static_cast<int>(arch)];
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

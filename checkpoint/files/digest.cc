#include "checkpoint/files/digest.h"

#include <new>

#include "absl/strings/str_format.h"
#include "xxhash.h"
// Takes the widest registers that the processor has, where XXH3 alone takes those of the oldest: a
// checkpoint is digested twice as it is prepared, which was a third of all the work.
#if defined(__x86_64__) && __has_include("xxh_x86dispatch.h")
#include "xxh_x86dispatch.h"
#endif

namespace lanewise {
namespace {

std::string Hex16(uint64_t value) { return absl::StrFormat("%016x", value); }

}  // namespace

Digest::Digest() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();  // as every other allocation of this size does
  XXH3_64bits_reset(state_.get());
}

void Digest::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

void Digest::Update(std::span<const uint8_t> bytes) {
  if (!bytes.empty()) XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

std::string Digest::Hex() const { return Hex16(XXH3_64bits_digest(state_.get())); }

std::string DigestHex(std::span<const uint8_t> bytes) {
  return Hex16(XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace lanewise

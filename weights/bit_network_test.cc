#include "weights/bit_network.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise {
namespace {

// A byte is known by the values of all bits, those of its register's number included.
using Byte = std::map<int, int>;
using Register = std::vector<Byte>;

Register Permuted(const Register& from, const RegisterPermutation& permutation) {
  Register v = from;
  const auto bytes = [&](const std::array<std::uint8_t, kMaxVectorBytes>& table) {
    const Register before = v;
    for (std::size_t i = 0; i < v.size(); ++i) {
      ASSERT_LT(table[i], 16);
      v[i] = before[i / 16 * 16 + table[i]];
    }
  };
  if (permutation.first_bytes) bytes(permutation.first_byte_of);
  if (permutation.words) {
    const Register before = v;
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] = before[4 * permutation.word_of[i / 4] + i % 4];
    }
  }
  if (permutation.last_bytes) bytes(permutation.last_byte_of);
  for (std::size_t i = 0; i < v.size(); ++i) {
    EXPECT_TRUE(v[i] == from[permutation.byte_of[i]]) << "the one-step table, byte " << i;
  }
  return v;
}

void Exchange(std::vector<Register>* registers, int bit, int position) {
  const std::vector<Register> before = *registers;
  for (std::size_t r = 0; r < before.size(); ++r) {
    for (std::size_t i = 0; i < before[r].size(); ++i) {
      const std::size_t of_number = r >> bit & 1, of_place = i >> position & 1;
      const std::size_t from_register = (r & ~(std::size_t{1} << bit)) | of_place << bit;
      const std::size_t from_byte = (i & ~(std::size_t{1} << position)) | of_number << position;
      (*registers)[r][i] = before[from_register][from_byte];
    }
  }
}

// Registers whose byte i of register r has bit places[p] = bit p of i and numbers[k] = bit k of r.
std::vector<Register> Registers(const std::vector<int>& places, const std::vector<int>& numbers) {
  std::vector<Register> registers(std::size_t{1} << numbers.size(),
                                  Register(std::size_t{1} << places.size()));
  for (std::size_t r = 0; r < registers.size(); ++r) {
    for (std::size_t i = 0; i < registers[r].size(); ++i) {
      for (std::size_t p = 0; p < places.size(); ++p) registers[r][i][places[p]] = i >> p & 1;
      for (std::size_t k = 0; k < numbers.size(); ++k) registers[r][i][numbers[k]] = r >> k & 1;
    }
  }
  return registers;
}

TEST(BitNetwork, BringsEveryBitIntoPlaceAndBack) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int trial = 0; trial < 300; ++trial) {
    const int bits = 4 + trial % 3;
    const int incoming = static_cast<int>(random() % std::min(bits + 1, 5));
    std::vector<int> numbers(20);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), random);
    const std::vector<int> source(numbers.begin(), numbers.begin() + bits);
    std::vector<int> line = source;
    std::shuffle(line.begin(), line.end(), random);
    for (int k = 0; k < incoming; ++k) line[k] = numbers[bits + k];
    std::shuffle(line.begin(), line.end(), random);

    const BitNetworkPlan plan = PlanBitNetwork(source, line);
    const BitNetwork& network = plan.network;
    ASSERT_EQ(network.vector_bits, bits);
    ASSERT_EQ(network.register_bits, incoming);
    ASSERT_EQ(network.permute.size(), incoming + std::size_t{1});
    for (const int position : network.exchanged) {
      ASSERT_TRUE(position >= 3 && position < bits) << position;
    }
    if (incoming <= bits - 3) {
      EXPECT_TRUE(std::is_sorted(plan.evicted.rbegin(), plan.evicted.rend()));
    }

    const std::vector<Register> loaded = Registers(source, plan.incoming);
    const std::vector<Register> stored = Registers(line, plan.evicted);
    std::vector<Register> v = loaded;
    for (int k = 0; k <= incoming; ++k) {
      for (Register& r : v) r = Permuted(r, network.permute[k]);
      if (k < incoming) Exchange(&v, k, network.exchanged[k]);
    }
    ASSERT_TRUE(v == stored) << "trial " << trial;
    for (int k = incoming; k >= 0; --k) {
      if (k < incoming) Exchange(&v, k, network.exchanged[k]);
      for (Register& r : v) r = Permuted(r, network.inverse[k]);
    }
    ASSERT_TRUE(v == loaded) << "trial " << trial;
  }
}

}  // namespace
}  // namespace lanewise

#include "weights/bit_network.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace lanewise {
namespace {

constexpr int kNone = -1;
constexpr int kLowestExchange = 3;  // exchanges move 8, 16 or 32 bytes at a time

// What stands at each position of a register; or, of a permutation, where position d comes from.
using Bits = std::array<int, kMaxVectorBits>;

Bits Identity() {
  Bits bits;
  std::iota(bits.begin(), bits.end(), 0);
  return bits;
}

// All orders of positions first .. last, the others in their places; the identity first.
std::vector<Bits> Orders(int first, int last) {
  std::vector<Bits> orders;
  Bits bits = Identity();
  do {
    orders.push_back(bits);
  } while (std::next_permutation(bits.begin() + first, bits.begin() + last + 1));
  return orders;
}

// The byte that byte `index` comes from.
int SourceByte(const Bits& from, int vector_bits, int index) {
  int source = 0;
  for (int d = 0; d < vector_bits; ++d) source |= (index >> d & 1) << from[d];
  return source;
}

// The cheapest of the ways to take position d from from[d].
RegisterPermutation Decompose(const Bits& from, int vector_bits) {
  static const std::vector<Bits> kInBlocks = Orders(0, 3);
  const std::vector<Bits> words = Orders(2, vector_bits - 1);
  const Bits identity = Identity();
  const Bits* best[3] = {};
  int best_steps = 4;
  for (const Bits& last : kInBlocks) {
    for (const Bits& word : words) {
      for (const Bits& first : kInBlocks) {
        const int steps = (first != identity) + (word != identity) + (last != identity);
        if (steps >= best_steps) continue;
        bool equal = true;
        for (int d = 0; d < vector_bits && equal; ++d) equal = first[word[last[d]]] == from[d];
        if (!equal) continue;
        best_steps = steps;
        best[0] = &first, best[1] = &word, best[2] = &last;
      }
    }
  }
  RegisterPermutation permutation;
  permutation.first_bytes = *best[0] != identity;
  permutation.words = *best[1] != identity;
  permutation.last_bytes = *best[2] != identity;
  for (int i = 0; i < 1 << vector_bits; ++i) {
    permutation.first_byte_of[i] =
        static_cast<std::uint8_t>(SourceByte(*best[0], vector_bits, i) % 16);
    permutation.last_byte_of[i] =
        static_cast<std::uint8_t>(SourceByte(*best[2], vector_bits, i) % 16);
    permutation.byte_of[i] = static_cast<std::uint8_t>(SourceByte(from, vector_bits, i));
    if (i % 4 == 0) permutation.word_of[i / 4] = SourceByte(*best[1], vector_bits, i) / 4;
  }
  return permutation;
}

class Planner {
 public:
  Planner(std::span<const int> source, std::span<const int> line)
      : bits_(static_cast<int>(source.size())) {
    std::copy(source.begin(), source.end(), at_.begin());
    std::copy(line.begin(), line.end(), final_.begin());
  }

  BitNetworkPlan Run() {
    std::vector<int> waiting;  // final positions of the bits still to come in
    for (int p = 0; p < bits_; ++p) {
      if (!Contains(at_, final_[p])) waiting.push_back(p);
    }
    while (!waiting.empty()) Round(&waiting);
    Bits wanted = final_;
    AddPermutation(wanted);
    plan_.network.vector_bits = bits_;
    plan_.network.register_bits = static_cast<int>(plan_.incoming.size());
    return std::move(plan_);
  }

 private:
  bool Contains(const Bits& bits, int bit) const {
    return std::find(bits.begin(), bits.begin() + bits_, bit) != bits.begin() + bits_;
  }
  bool Leaves(int bit) const { return !Contains(final_, bit); }

  // Brings in as many bits as there are positions to exchange at, each at its final one if it can.
  void Round(std::vector<int>* waiting) {
    Bits comes;  // the final position of what comes in at each exchange position
    comes.fill(kNone);
    std::vector<int> later;
    for (const int p : *waiting) {
      if (p >= kLowestExchange) {
        comes[p] = p;
      } else {
        later.push_back(p);
      }
    }
    for (int q = bits_ - 1; q >= kLowestExchange && !later.empty(); --q) {
      if (comes[q] != kNone) continue;
      comes[q] = later.front();
      later.erase(later.begin());
    }
    *waiting = later;

    // Where everything has to stand for it: a leaving bit at each exchange position, the rest where
    // it ends up if nothing more comes in, else where it is.
    Bits wanted;
    wanted.fill(kNone);
    std::vector<int> leaving, staying;
    for (int p = 0; p < bits_; ++p) (Leaves(at_[p]) ? leaving : staying).push_back(p);
    const auto take = [&](int p, int to) {
      wanted[to] = at_[p];
      std::erase(leaving, p);
      std::erase(staying, p);
    };
    for (int q = 0; q < bits_; ++q) {
      if (comes[q] != kNone && Leaves(at_[q])) take(q, q);
    }
    for (int q = 0; q < bits_; ++q) {
      if (comes[q] != kNone && wanted[q] == kNone) take(leaving.front(), q);
    }
    const auto place = [&](bool at_end) {
      for (int p = 0; p < bits_; ++p) {
        if (Contains(wanted, at_[p])) continue;
        const int to =
            at_end ? static_cast<int>(std::find(final_.begin(), final_.begin() + bits_, at_[p]) -
                                      final_.begin())
                   : p;
        if (to < bits_ && wanted[to] == kNone) take(p, to);
      }
    };
    if (later.empty()) place(true);
    place(false);
    for (int p = 0; p < bits_; ++p) {
      if (Contains(wanted, at_[p])) continue;
      take(p, static_cast<int>(std::find(wanted.begin(), wanted.end(), kNone) - wanted.begin()));
    }

    // In descending order of what leaves, so that a caller who numbers bits from the outermost in
    // memory has stores in ascending order.
    std::vector<int> order;
    for (int q = 0; q < bits_; ++q) {
      if (comes[q] != kNone) order.push_back(q);
    }
    std::sort(order.begin(), order.end(), [&](int a, int b) { return wanted[a] > wanted[b]; });
    for (const int q : order) {
      AddPermutation(wanted);  // the identity but for the round's first exchange
      plan_.network.exchanged.push_back(q);
      plan_.incoming.push_back(final_[comes[q]]);
      plan_.evicted.push_back(at_[q]);
      at_[q] = wanted[q] = final_[comes[q]];
    }
  }

  void AddPermutation(const Bits& wanted) {
    Bits from = Identity(), back = Identity();
    for (int d = 0; d < bits_; ++d) {
      from[d] =
          static_cast<int>(std::find(at_.begin(), at_.begin() + bits_, wanted[d]) - at_.begin());
      back[from[d]] = d;
    }
    plan_.network.permute.push_back(Decompose(from, bits_));
    plan_.network.inverse.push_back(Decompose(back, bits_));
    at_ = wanted;
  }

  int bits_;
  Bits at_ = {};     // now
  Bits final_ = {};  // in the end
  BitNetworkPlan plan_;
};

}  // namespace

BitNetworkPlan PlanBitNetwork(std::span<const int> source, std::span<const int> line) {
  return Planner(source, line).Run();
}

}  // namespace lanewise

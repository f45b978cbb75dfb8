// Scrambled words, and numbers of keys by their hashes.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace retgk {

// SplitMix64 without its step: every word has a scrambled word of its own. Never a function that is
// called: files for some level of instructions use it too.
__attribute__((always_inline)) inline uint64_t mixed(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

// Numbers 0, 1, .. of different keys, in the order in which they come. The keys themselves lie
// with the caller, who tells whether the one with some number is the same.
class Numbering {
public:
    // With room for some keys; more grow it.
    explicit Numbering(int64_t n_keys = 0) : size_(0) {
        uint64_t n_slots = SMALLEST;
        while (n_slots <= 2 * static_cast<uint64_t>(n_keys)) n_slots *= 2;
        slots_.resize(n_slots);
        mask_ = n_slots - 1;
    }

    int64_t size() const { return size_; }

    // Forget all keys, and the room for many.
    void clear() {
        slots_.assign(SMALLEST, Slot{});
        mask_ = SMALLEST - 1;
        size_ = 0;
    }

    // The number of a key; that of a new one is `size()` before the call.
    template <typename IsSame>
    int64_t number(uint64_t hash, IsSame&& is_same) {
        const uint32_t part = static_cast<uint32_t>(hash);
        uint64_t place = part & mask_;
        while (slots_[place].follower != 0) {
            const Slot slot = slots_[place];
            if (slot.part == part && is_same(static_cast<int64_t>(slot.follower) - 1))
                return static_cast<int64_t>(slot.follower) - 1;
            place = (place + 1) & mask_;
        }
        slots_[place] = {part, static_cast<uint32_t>(++size_)};
        if (2 * static_cast<uint64_t>(size_) > mask_) grow();
        return size_ - 1;
    }

private:
    // 32 bits of a hash tell nearly all keys apart without a look at them, and they are enough to
    // find the place in a larger table.
    struct Slot {
        uint32_t part = 0, follower = 0;  // of the number; none in an empty slot
    };
    static constexpr uint64_t SMALLEST = 1024;

    __attribute__((noinline)) void grow() {
        if (mask_ >= UINT32_MAX) throw std::length_error("there are 2^31 different keys or more");
        std::vector<Slot> larger(2 * slots_.size());
        mask_ = larger.size() - 1;
        for (const Slot slot : slots_) {
            if (slot.follower == 0) continue;
            uint64_t place = slot.part & mask_;
            while (larger[place].follower != 0) place = (place + 1) & mask_;
            larger[place] = slot;
        }
        slots_ = std::move(larger);
    }

    std::vector<Slot> slots_;
    uint64_t mask_;
    int64_t size_;
};

}  // namespace retgk

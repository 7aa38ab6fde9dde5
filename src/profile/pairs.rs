//! A map from pairs of small numbers: a tree's node and the key of its child.
//!
//! Every frame of every sample looks one up, and the standard hash takes longer than all the rest.
//! This one multiplies twice. It is seeded as the standard one is, so that a file cannot know
//! which pairs fall together.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A map from pairs.
pub(super) type Pairs<V> = HashMap<(u32, u32), V, Seed>;

/// Makes hashers of one seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Self(RandomState::new().build_hasher().finish() | 1)
    }
}

impl BuildHasher for Seed {
    type Hasher = Mixed;

    fn build_hasher(&self) -> Mixed {
        Mixed(self.0)
    }
}

/// A hasher of few numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixed(u64);

impl Mixed {
    /// Both halves of the product, so that every bit of the input moves every bit of the result.
    fn mix(&mut self, value: u64) {
        let product =
            u128::from(self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let [high, low] = [product >> 64, product & u128::from(u64::MAX)];
        self.0 = u64::try_from(high ^ low).unwrap_or_default();
    }
}

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_pairs_fall_apart() {
        let seed = Seed::default();
        let mut buckets = vec![0_u32; 1 << 12];
        for one in 0..256_u32 {
            for other in 0..256_u32 {
                let hash = seed.hash_one((one, other));
                buckets[usize::try_from(hash & 0xfff).unwrap()] += 1;
                buckets[usize::try_from(hash >> 52).unwrap()] += 1;
            }
        }
        // 32 each on average, by the low bits and by the high ones together.
        let most = buckets.iter().max().copied().unwrap_or_default();
        assert!(most < 100, "{most} of 131072 in one of 4096");
    }

    #[test]
    fn each_map_has_a_seed_of_its_own() {
        assert_ne!(Seed::default().hash_one((1, 2)), Seed::default().hash_one((1, 2)));
    }
}

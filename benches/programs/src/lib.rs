//! What several programs of the benchmarks need: numbers that look random but repeat, results as
//! they lie in files, their medians, byte counts as people type them, and how to end. Knows no program.

pub mod ending;
pub mod quantity;
pub mod random;
pub mod results;
pub mod summary;

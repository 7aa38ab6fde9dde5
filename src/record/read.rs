//! Reads records of every version, and says what is wrong with one that is none.

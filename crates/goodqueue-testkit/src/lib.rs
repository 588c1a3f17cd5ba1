//! Test instruments.

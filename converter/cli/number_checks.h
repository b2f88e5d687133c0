/// What numbers options take, said in plain words where they are others.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>

namespace skiff::cli {

/// 0 or more, which may be a fraction.
CLI::Validator FromZero();
/// More than 0, which may be a fraction.
CLI::Validator AboveZero();
CLI::Validator Between(double low, double high);
/// Whole numbers.
CLI::Validator WholeBetween(int64_t low, int64_t high);

}  // namespace skiff::cli

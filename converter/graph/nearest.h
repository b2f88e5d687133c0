/// Names that were likely meant, for messages about names that there are not.
#pragma once

#include <string>
#include <vector>

namespace skiff {

/// How many letters have to be changed, added, left out or swapped with their neighbour; capitals are the
/// same letters.
size_t EditDistance(const std::string& a, const std::string& b);

/// The nearest of `known`, the first of several; "" where none is near enough to be meant: a third of the
/// letters may differ, and of short names one, or it begins with `name`.
std::string Nearest(const std::string& name, const std::vector<std::string>& known);

/// " (did you mean 'batch'?)", or "" where nothing is near.
std::string DidYouMean(const std::string& name, const std::vector<std::string>& known);

}  // namespace skiff

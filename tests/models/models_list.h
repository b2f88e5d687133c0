/// The list of trained models (models.json), and where they are.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace skiff::testing {

/// Beside the checkout, or what SKIFF_MODELS names; may be absent.
std::filesystem::path ModelsFolder();

std::vector<nlohmann::json> Listed();
std::vector<nlohmann::json> WithStatus(const std::string& status);
std::vector<nlohmann::json> With(const std::string& key);

/// A file's path as a name of a test.
std::string NameOf(std::string file);
std::string TestName(const ::testing::TestParamInfo<nlohmann::json>& info);

}  // namespace skiff::testing

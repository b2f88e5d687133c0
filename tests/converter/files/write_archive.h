/// Archives as numpy.savez (stored) and numpy.savez_compressed write them.
#pragma once

#include <gtest/gtest.h>
#include <zip.h>
#include <zlib.h>

#include <map>
#include <string>

#include "tests/support/temp_folder.h"

namespace skiff::testing {

/// `files`: content by name. `method`: 0, or Z_DEFLATED. Returns the archive's path.
inline std::string WriteArchive(const TempFolder& folder, const std::string& name,
                                const std::map<std::string, std::string>& files, int method = 0) {
  std::string path = folder / name;
  zipFile archive = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  EXPECT_NE(archive, nullptr);
  for (const auto& [file, content] : files) {
    EXPECT_EQ(zipOpenNewFileInZip64(archive, file.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr, method,
                                    Z_DEFAULT_COMPRESSION, 1),
              ZIP_OK);
    EXPECT_EQ(zipWriteInFileInZip(archive, content.data(), static_cast<unsigned>(content.size())), ZIP_OK);
    EXPECT_EQ(zipCloseFileInZip(archive), ZIP_OK);
  }
  EXPECT_EQ(zipClose(archive, nullptr), ZIP_OK);
  return path;
}

}  // namespace skiff::testing

#include "files/exif.h"

#include <gtest/gtest.h>

#include <string>

namespace skiff {
namespace {

using namespace std::string_literals;

int OrientationOf(const std::string& tiff) {
  return ExifOrientation({reinterpret_cast<const uint8_t*>(tiff.data()), tiff.size()});
}

TEST(Exif, BothByteOrders) {
  EXPECT_EQ(OrientationOf("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"s), 6);
  EXPECT_EQ(OrientationOf("MM\0*\0\0\0\x08\0\x02\x01\0\0\x03\0\0\0\x01\0\x01\0\0"
                          "\x01\x12\0\x03\0\0\0\x01\0\x03\0\0"s),
            3);
}

TEST(Exif, DamagedBlocksSayNothing) {
  EXPECT_EQ(OrientationOf(""), 1);
  EXPECT_EQ(OrientationOf("II*\0"s), 1);
  EXPECT_EQ(OrientationOf("II*\0\xff\xff\xff\xff"s), 1);
  EXPECT_EQ(OrientationOf("II*\0\x08\0\0\0\xff\xff\x12\x01"s), 1);
  EXPECT_EQ(OrientationOf("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x09\0\0\0"s), 1);  // There is no 9.
  EXPECT_EQ(OrientationOf("II*\0\x08\0\0\0\x01\0\x12\x01\x04\0\x01\0\0\0\x06\0\0\0"s), 1);  // A long.
}

}  // namespace
}  // namespace skiff

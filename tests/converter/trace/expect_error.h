/// Checks of the sentences of errors.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "graph/error.h"

/// The statement throws skiff::Error whose sentence contains the text, and says where in this file it was.
#define EXPECT_ERROR(statement, text)                                   \
  try {                                                                 \
    statement;                                                          \
    ADD_FAILURE() << "no error was thrown";                             \
  } catch (const skiff::Error& error) {                                 \
    EXPECT_THAT(std::string(error.what()), ::testing::HasSubstr(text)); \
  }                                                                     \
  static_assert(true)

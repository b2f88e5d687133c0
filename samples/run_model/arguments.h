/// The command line of skiff-run.
#pragma once

#include <cstring>

#include "skiff/session.h"

/// Names on the command line end where '=' is.
inline bool IsNamed(const char* name, const char* text, int length) {
  return std::strlen(name) == static_cast<size_t>(length) &&
         std::memcmp(name, text, static_cast<size_t>(length)) == 0;
}

/// NAME=FILE. Both point into argv; the name's length is counted.
struct NamedFile {
  const char* name = nullptr;
  int name_length = 0;
  const char* file = nullptr;
};

/// NAME=1x7: the sizes of an input whose dimensions are open.
struct NamedShape {
  const char* name = nullptr;
  int name_length = 0;
  skiff::Shape shape;
};

/// NAME=7: the size of an open dimension.
struct NamedSize {
  const char* name = nullptr;
  int name_length = 0;
  int64_t size = 0;
};

struct Arguments {
  static constexpr int kMaxFiles = 16;
  const char* model = nullptr;
  const char* inputs[kMaxFiles] = {};  ///< [NAME=]FILE: which of them the model's inputs tell.
  int input_count = 0;
  NamedFile expected[kMaxFiles];
  int expected_count = 0;
  NamedShape shapes[kMaxFiles];
  int shape_count = 0;
  NamedSize dims[kMaxFiles];
  int dim_count = 0;
  const char* output = nullptr;     ///< Folder.
  double tolerance = 2e-5;          ///< Of the largest expected element.
  const char* backend = "xnnpack";  ///< By its name.
  skiff::SessionOptions session;
  const char* cache_folder = nullptr;  ///< For packed weights.
  int bench = 0;                       ///< Timed runs after the first.
  int top = -1;                        ///< Best classes to print; -1: five of outputs with labels.
  bool json = false;
  bool help = false;  ///< It (or the version) was asked for and has been printed; nothing else counts.
};

/// False, after a message on stderr, when the command line is wrong.
bool ParseArguments(int argc, char** argv, Arguments* arguments);

/// The generated reader of schema.fbs, which names it after the file.
#pragma once

#include "tflite_schema_generated.h"

namespace skiff::tflite {}

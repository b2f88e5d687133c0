/// What was said about the newest failures, for Status::message().
#pragma once

#include <cstdint>

namespace skiff {

/// The number by which the sentence is found as long as it is remembered; never 0. From any thread.
uint32_t RememberSentence(const char* sentence);

}  // namespace skiff

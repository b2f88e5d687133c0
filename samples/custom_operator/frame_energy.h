/* acme::FrameEnergy, an operator that Skiff does not have. */
#pragma once

#include "skiff/skiff.h"

/* Inputs: a signal, f32 [batch, samples], and constants, i64 [2]: the samples of a frame, and those from one
   frame's beginning to the next one's. Output: the mean square of each frame, f32 [batch, frames]. */
extern const SkiffCustomOperator kFrameEnergy;

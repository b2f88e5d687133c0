/* What c_api_test.cpp asks of the C program's part: both languages read this header. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each returns null, or the text of the first expectation that did not hold. The model is the small net of
   tiny_models.h: one f32 input "image" [1, 16, 16, 3], one output "scores" [1, 10]. */
const char* RunTheModel(const char* path, const float* image, float* scores);
const char* BindAndWriteInPlace(const void* bytes, size_t size, const float* image, float* scores);
const char* QueryTheModel(const char* path);
const char* MisuseTheModel(const char* path);
const char* MisuseTheSession(const char* path);
const char* GrowTheStructs(const char* path);
const char* ShareThreads(const char* path, const float* image, float* scores);
const char* KeepACache(const char* path, const void* bytes, size_t size, const char* folder);
/* The small net again; its image has the settings bgr, mean 1, 2, 3, scale 0.5, 0.25, 0.125, and its scores
   the labels "a" to "j". */
const char* ReadTheSettings(const char* path);
const char* WritePictures(const char* path);
/* The model: i8 x[4] {scale=0.5, zero_point=-3} -> i16 rows[2, 3] {scales 1, 0.5, 2 along axis 1, zero points
   0, 10, -10} of f32 table[2, 3], u8 y[4] {scale=0.25, zero_point=100} of the same numbers as x, and f32
   plain[4]. */
const char* TellTheQuantization(const char* path);
/* The model: y[n, 3] = x[n, 3] + x, f32, n in 2..8, a multiple of 2; z[m] of i32 input w[m] without a limit.
 */
const char* ChangeTheShape(const char* path);
/* The model: f32 y[2] of f32 x[2] by the custom operator "test::Times", whose options are the byte 3. */
const char* RunACustomOperator(const char* path);
/* Signatures "step" (f32 x [] -> "result0" = count after count += x) and "reset"; variable f32 count [] = 1.
 */
const char* KeepTheState(const char* path);
const char* SinkTheLog(void);
const char* NameTheNumbers(void);

#ifdef __cplusplus
}
#endif

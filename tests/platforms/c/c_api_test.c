/* The C API as a C program uses it: this file is C99 and sees the public headers only. */
#include "c_api_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skiff/image_c.h"
#include "skiff/skiff.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define EXPECT(condition) \
  if (!(condition)) return __FILE__ ":" TEXT(__LINE__) ": " #condition

enum { kImageElements = 16 * 16 * 3, kScores = 10, kReadableTail = 16 };

static SkiffTensor ImageTensor(const float* image) {
  SkiffTensor tensor = {NULL, SKIFF_DTYPE_F32, 4, {1, 16, 16, 3}};
  tensor.data = (void*)image;
  return tensor;
}

static int Says(const char* message, const char* part) { return strstr(message, part) != NULL; }

const char* RunTheModel(const char* path, const float* image, float* scores) {
  char message[256] = "left over";
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  SkiffSessionOptions options;
  const SkiffTensor input = ImageTensor(image);
  SkiffTensor output;
  SkiffMemoryUsage usage;

  EXPECT(skiff_model_open(path, &model, message, sizeof(message)) == SKIFF_OK);
  EXPECT(message[0] == '\0');
  skiff_session_options_init(&options, sizeof(options));
  options.threads = 2;
  options.signature = skiff_model_signature_name(model, 0);
  EXPECT(skiff_session_create(model, &options, &session, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_find_input(session, "image") == 0);
  EXPECT(skiff_session_find_output(session, "scores") == 0);
  EXPECT(skiff_session_set_input(session, 0, &input, message, sizeof(message)) == SKIFF_OK);
  skiff_session_cancel(session); /* Before the run: forgotten. */
  EXPECT(skiff_session_run(session, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_output(session, 0, &output, message, sizeof(message)) == SKIFF_OK);
  EXPECT(output.dtype == SKIFF_DTYPE_F32 && output.rank == 2 && output.extents[0] == 1 &&
         output.extents[1] == kScores);
  memcpy(scores, output.data, kScores * sizeof(float));

  skiff_session_memory_usage(session, &usage, sizeof(usage));
  EXPECT(usage.arena > 0 && usage.mapped_weights > 0);
  EXPECT(skiff_session_target(session) == SKIFF_TARGET_CPU && skiff_session_target(NULL) == SKIFF_TARGET_CPU);
  skiff_session_destroy(session);
  skiff_model_close(model);
  return NULL;
}

const char* BindAndWriteInPlace(const void* bytes, size_t size, const float* image, float* scores) {
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  SkiffTensor tensor;
  float bound_scores[kScores];
  float* own = calloc(1, kImageElements * sizeof(float) + kReadableTail);
  EXPECT(own != NULL);
  memcpy(own, image, kImageElements * sizeof(float));

  EXPECT(skiff_model_open_bytes(bytes, size, &model, NULL, 0) == SKIFF_OK);
  EXPECT(skiff_session_create(model, NULL, &session, NULL, 0) == SKIFF_OK);
  tensor = ImageTensor(own);
  EXPECT(skiff_session_bind_input(session, 0, &tensor, NULL, 0) == SKIFF_OK);
  EXPECT(skiff_session_run(session, NULL, 0) == SKIFF_OK);
  EXPECT(skiff_session_output(session, 0, &tensor, NULL, 0) == SKIFF_OK);
  memcpy(bound_scores, tensor.data, sizeof(bound_scores));

  EXPECT(skiff_session_input_buffer(session, 0, &tensor, NULL, 0) == SKIFF_OK);
  EXPECT(tensor.data != own && tensor.rank == 4 && tensor.extents[3] == 3 && tensor.extents[4] == 0);
  free(own); /* The input lives in the session again. */
  memcpy(tensor.data, image, kImageElements * sizeof(float));
  EXPECT(skiff_session_run(session, NULL, 0) == SKIFF_OK);
  EXPECT(skiff_session_output(session, 0, &tensor, NULL, 0) == SKIFF_OK);
  EXPECT(memcmp(tensor.data, bound_scores, sizeof(bound_scores)) == 0);
  memcpy(scores, tensor.data, sizeof(bound_scores));
  skiff_session_destroy(session);
  skiff_model_close(model);
  return NULL;
}

const char* QueryTheModel(const char* path) {
  char message[256];
  SkiffModel* model = NULL;
  SkiffTensor type;
  EXPECT(skiff_model_open(path, &model, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_model_signature_count(model) == 1);
  EXPECT(skiff_model_signature_name(model, 0) != NULL && skiff_model_signature_name(model, 1) == NULL);
  EXPECT(skiff_model_input_count(model, 0) == 1 && skiff_model_output_count(model, 0) == 1);
  EXPECT(skiff_model_input_count(model, 1) == 0 && skiff_model_output_count(model, -1) == 0);
  EXPECT(strcmp(skiff_model_input_name(model, 0, 0), "image") == 0);
  EXPECT(strcmp(skiff_model_output_name(model, 0, 0), "scores") == 0);
  EXPECT(skiff_model_input_name(model, 0, 1) == NULL && skiff_model_output_name(model, 1, 0) == NULL);

  EXPECT(skiff_model_input_type(model, 0, 0, &type, message, sizeof(message)) == SKIFF_OK);
  EXPECT(type.data == NULL && type.dtype == SKIFF_DTYPE_F32 && type.rank == 4 && type.extents[1] == 16);
  EXPECT(skiff_model_output_type(model, 0, 0, &type, message, sizeof(message)) == SKIFF_OK);
  EXPECT(type.rank == 2 && type.extents[1] == kScores);
  EXPECT(skiff_model_output_type(model, 0, 3, &type, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "no output 3"));
  EXPECT(skiff_model_input_type(model, 2, 0, &type, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "signature is 2"));
  EXPECT(skiff_model_metadata(model, "no such key") == NULL);
  skiff_model_close(model);
  return NULL;
}

const char* MisuseTheModel(const char* path) {
  char message[256];
  char little[8];
  unsigned char junk[256];
  unsigned char* aligned = junk + (64 - (uintptr_t)junk % 64) % 64;
  SkiffModel* model = (SkiffModel*)junk;
  memset(junk, 'x', sizeof(junk));

  EXPECT(skiff_model_open("no/such/file.skiff", &model, message, sizeof(message)) == SKIFF_IO);
  EXPECT(model == NULL && Says(message, "no/such/file.skiff"));
  EXPECT(skiff_model_open("no/such/file.skiff", &model, little, sizeof(little)) == SKIFF_IO);
  EXPECT(strlen(little) == sizeof(little) - 1 && strncmp(little, message, sizeof(little) - 1) == 0);
  EXPECT(skiff_model_open_bytes(aligned, 128, &model, message, sizeof(message)) == SKIFF_INVALID_MODEL);
  EXPECT(skiff_model_open_bytes(aligned + 1, 128, &model, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "multiple of 64"));
  EXPECT(skiff_model_open(path, NULL, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_model_open(NULL, &model, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "path is null"));
  EXPECT(skiff_model_open_bytes(NULL, 0, &model, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_model_signature_count(NULL) == 0 && skiff_model_input_name(NULL, 0, 0) == NULL);
  skiff_model_close(NULL);
  return NULL;
}

const char* MisuseTheSession(const char* path) {
  char message[256];
  const float pixel = 0;
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  SkiffSessionOptions options;
  SkiffTensor tensor = ImageTensor(&pixel);
  EXPECT(skiff_model_open(path, &model, message, sizeof(message)) == SKIFF_OK);

  EXPECT(skiff_session_create(NULL, NULL, &session, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  skiff_session_options_init(&options, sizeof(options));
  options.signature = "other";
  EXPECT(skiff_session_create(model, &options, &session, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "'other'"));
  skiff_session_options_init(&options, sizeof(options));
  options.target = SKIFF_TARGET_VULKAN;
  EXPECT(skiff_session_create(model, &options, &session, message, sizeof(message)) == SKIFF_UNSUPPORTED);
  options.target = 256; /* Would be the CPU in 8 bits. */
  EXPECT(skiff_session_create(model, &options, &session, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "target is 256"));
  skiff_session_options_init(&options, sizeof(options));
  options.memory_limit = 1000;
  EXPECT(skiff_session_create(model, &options, &session, message, sizeof(message)) == SKIFF_OUT_OF_MEMORY);
  EXPECT(session == NULL);

  EXPECT(skiff_session_create(model, NULL, &session, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_run(session, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "input 'image' was never set"));
  EXPECT(skiff_session_set_input(session, 1, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "no input 1"));
  tensor.extents[1] = 8;
  EXPECT(skiff_session_set_input(session, 0, &tensor, message, sizeof(message)) == SKIFF_NO_MATCHING_BUCKET);
  tensor.dtype = SKIFF_DTYPE_I8;
  EXPECT(skiff_session_set_input(session, 0, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "must be f32, got i8"));
  tensor.dtype = 256 + SKIFF_DTYPE_F32;
  EXPECT(skiff_session_set_input(session, 0, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "dtype is 257"));
  tensor.rank = SKIFF_MAX_RANK + 1;
  EXPECT(skiff_session_bind_input(session, 0, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "rank is 9"));
  EXPECT(skiff_session_set_input(session, 0, NULL, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_session_input_buffer(session, 7, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_session_output(session, 5, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_session_output(session, 0, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "the last run failed"));
  EXPECT(skiff_session_output(session, 0, NULL, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_session_find_input(session, "picture") == -1 &&
         skiff_session_find_output(session, NULL) == -1);
  EXPECT(skiff_session_run(NULL, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "session is null"));

  /* None of it made the session unusable. */
  EXPECT(skiff_session_input_buffer(session, 0, &tensor, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_run(session, message, sizeof(message)) == SKIFF_OK);
  skiff_session_cancel(NULL);
  skiff_session_destroy(NULL);
  skiff_session_destroy(session);
  skiff_model_close(model);
  return NULL;
}

const char* GrowTheStructs(const char* path) {
  char message[256];
  struct {
    SkiffSessionOptions known;
    uint64_t later;
  } options;
  struct {
    SkiffMemoryUsage known;
    uint64_t later;
  } usage;
  uint64_t only_arena = 0;
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  EXPECT(skiff_model_open(path, &model, message, sizeof(message)) == SKIFF_OK);

  /* A newer program: welcome as long as it leaves the later field alone. */
  memset(&options, 0xff, sizeof(options));
  skiff_session_options_init(&options.known, sizeof(options));
  EXPECT(options.known.size == sizeof(options) && options.later == 0);
  EXPECT(skiff_session_create(model, &options.known, &session, message, sizeof(message)) == SKIFF_OK);
  memset(&usage, 0xff, sizeof(usage));
  skiff_session_memory_usage(session, &usage.known, sizeof(usage));
  EXPECT(usage.known.arena > 0 && usage.later == 0);
  skiff_session_memory_usage(session, (SkiffMemoryUsage*)&only_arena, sizeof(only_arena));
  EXPECT(only_arena == usage.known.arena);
  skiff_session_destroy(session);
  options.later = 1;
  EXPECT(skiff_session_create(model, &options.known, &session, message, sizeof(message)) ==
         SKIFF_UNSUPPORTED);
  EXPECT(session == NULL && Says(message, "newer than the library"));

  /* An older program, whose struct ends before kept_shapes. */
  memset(&options, 0xff, sizeof(options));
  skiff_session_options_init(&options.known, offsetof(SkiffSessionOptions, kept_shapes));
  EXPECT(skiff_session_create(model, &options.known, &session, message, sizeof(message)) == SKIFF_OK);
  skiff_session_destroy(session);
  session = NULL;

  /* Never initialised. */
  options.known.size = 0;
  EXPECT(skiff_session_create(model, &options.known, &session, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "skiff_session_options_init"));
  options.known.size = 0xffffffffu;
  EXPECT(skiff_session_create(model, &options.known, &session, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  skiff_model_close(model);
  return NULL;
}

/* Two starts with a cache folder: the second finds the weights packed. */
const char* KeepACache(const char* path, const void* bytes, size_t size, const char* folder) {
  char message[256];
  struct {
    SkiffModelOptions known;
    uint64_t later;
  } options;
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  SkiffMemoryUsage first, second;
  memset(&options, 0xff, sizeof(options));
  skiff_model_options_init(&options.known, sizeof(options));
  EXPECT(options.known.size == sizeof(options) && options.known.cache_folder == NULL && options.later == 0);
  options.known.cache_folder = folder;
  EXPECT(skiff_model_open_with(path, &options.known, &model, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_create(model, NULL, &session, message, sizeof(message)) == SKIFF_OK);
  skiff_session_memory_usage(session, &first, sizeof(first));
  EXPECT(skiff_model_save_cache(model, message, sizeof(message)) == SKIFF_OK);
  skiff_session_destroy(session);
  skiff_model_close(model);
  EXPECT(skiff_model_open_bytes_with(bytes, size, &options.known, &model, message, sizeof(message)) ==
         SKIFF_OK);
  EXPECT(skiff_session_create(model, NULL, &session, message, sizeof(message)) == SKIFF_OK);
  skiff_session_memory_usage(session, &second, sizeof(second));
  skiff_session_destroy(session);
  skiff_model_close(model);
  EXPECT(first.packed_weights > 0 && first.mapped_packed_weights == 0);
  EXPECT(second.packed_weights == 0 && second.mapped_packed_weights == first.packed_weights);

  /* A folder that is not there is no reason to fail, except where the caller asks. */
  options.known.cache_folder = "/nonexistent/folder";
  EXPECT(skiff_model_open_with(path, &options.known, &model, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_create(model, NULL, &session, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_model_save_cache(model, message, sizeof(message)) == SKIFF_IO);
  EXPECT(Says(message, "/nonexistent/folder") && Says(message, "cannot be written"));
  skiff_session_destroy(session);
  skiff_model_close(model);

  options.known.cache_folder = "";
  EXPECT(skiff_model_open_with(path, &options.known, &model, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(model == NULL && Says(message, "cache_folder is empty"));
  options.later = 1;
  EXPECT(skiff_model_open_with(path, &options.known, &model, message, sizeof(message)) == SKIFF_UNSUPPORTED);
  EXPECT(model == NULL && Says(message, "newer than the library"));
  options.known.size = 0;
  EXPECT(skiff_model_open_bytes_with(bytes, size, &options.known, &model, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "skiff_model_options_init"));
  skiff_model_options_init(&options.known, sizeof(options.known));
  options.known.reserved = 1;
  EXPECT(skiff_model_open_with(path, &options.known, &model, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "reserved"));
  EXPECT(skiff_model_save_cache(NULL, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  return NULL;
}

static SkiffStatus SameShape(void* user, const SkiffCustomCall* call, char* message, size_t size) {
  (void)user;
  if (call->input_count != 1 || call->output_count != 1 || call->size != sizeof(*call)) return SKIFF_INTERNAL;
  if (call->inputs[0].rank != 1 || call->inputs[0].data != NULL || call->input_quantizations[0] != NULL) {
    snprintf(message, size, "this is no vector of numbers");
    return SKIFF_INVALID_ARGUMENT;
  }
  call->outputs[0] = call->inputs[0];
  return SKIFF_OK;
}

static SkiffStatus Times(void* user, const SkiffCustomCall* call, char* message, size_t size) {
  const float* x = call->inputs[0].data;
  float* y = call->outputs[0].data;
  ++*(int*)user;
  for (int i = 0; i < call->inputs[0].extents[0]; ++i) {
    if (x[i] < 0) {
      snprintf(message, size, "element %d is negative", i);
      return SKIFF_INVALID_ARGUMENT;
    }
    y[i] = x[i] * (float)call->options[0];
  }
  return SKIFF_OK;
}

const char* RunACustomOperator(const char* path) {
  char message[512];
  int calls = 0;
  float numbers[2] = {1, 2};
  const SkiffTensor x = {numbers, SKIFF_DTYPE_F32, 1, {2}};
  SkiffTensor y;
  SkiffCustomOperator times = {"test::Times", SameShape, Times, NULL};
  SkiffModelOptions options;
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  times.user = &calls;
  EXPECT(skiff_model_open(path, &model, message, sizeof(message)) == SKIFF_INVALID_MODEL);
  EXPECT(Says(message, "test::Times"));
  skiff_model_options_init(&options, sizeof(options));
  options.custom_operator_count = 1;
  EXPECT(skiff_model_open_with(path, &options, &model, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "custom_operators is null"));
  options.custom_operators = &times;
  EXPECT(skiff_model_open_with(path, &options, &model, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_create(model, NULL, &session, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_set_input(session, 0, &x, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_run(session, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_output(session, 0, &y, message, sizeof(message)) == SKIFF_OK);
  EXPECT(calls == 1 && ((const float*)y.data)[0] == 3 && ((const float*)y.data)[1] == 6);
  numbers[1] = -1;
  EXPECT(skiff_session_set_input(session, 0, &x, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_run(session, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "'test::Times': element 1 is negative"));
  skiff_session_destroy(session);
  skiff_model_close(model);
  times.run = NULL;
  EXPECT(skiff_model_open_with(path, &options, &model, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "must have a name, a shape rule and a kernel"));
  return NULL;
}

const char* ShareThreads(const char* path, const float* image, float* scores) {
  char message[256];
  SkiffModel* model = NULL;
  SkiffThreadPool* pool = (SkiffThreadPool*)message;
  SkiffSession* sessions[2] = {NULL, NULL};
  SkiffSessionOptions options;
  const SkiffTensor input = ImageTensor(image);
  SkiffTensor output;
  int i;
  EXPECT(skiff_thread_pool_create(257, &pool, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(pool == NULL && Says(message, "257 threads were asked for; it must be 0 to 256"));
  EXPECT(skiff_thread_pool_create(-1, &pool, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_thread_pool_create(2, NULL, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "the place for the thread pool is null"));
  skiff_thread_pool_destroy(NULL);

  EXPECT(skiff_thread_pool_create(2, &pool, message, sizeof(message)) == SKIFF_OK);
  EXPECT(pool != NULL && message[0] == '\0');
  EXPECT(skiff_model_open(path, &model, message, sizeof(message)) == SKIFF_OK);
  skiff_session_options_init(&options, sizeof(options));
  options.thread_pool = pool;
  for (i = 0; i < 2; ++i) {
    EXPECT(skiff_session_create(model, &options, &sessions[i], message, sizeof(message)) == SKIFF_OK);
  }
  for (i = 0; i < 2; ++i) {
    EXPECT(skiff_session_set_input(sessions[i], 0, &input, message, sizeof(message)) == SKIFF_OK);
    EXPECT(skiff_session_run(sessions[i], message, sizeof(message)) == SKIFF_OK);
  }
  /* What is left does not need the one that ends first. */
  skiff_session_destroy(sessions[0]);
  EXPECT(skiff_session_run(sessions[1], message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_output(sessions[1], 0, &output, message, sizeof(message)) == SKIFF_OK);
  memcpy(scores, output.data, kScores * sizeof(float));
  skiff_session_destroy(sessions[1]);
  skiff_thread_pool_destroy(pool);

  options.thread_pool = NULL;
  options.threads = 1000000;
  EXPECT(skiff_session_create(model, &options, &sessions[0], message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(sessions[0] == NULL && Says(message, "1000000 threads"));
  skiff_model_close(model);
  return NULL;
}

const char* ChangeTheShape(const char* path) {
  char message[256];
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  SkiffSessionOptions options;
  SkiffMemoryUsage usage;
  SkiffTensor tensor;
  int64_t min = 0, max = 0, multiple = 0;
  int32_t n, i;
  const int64_t many[1] = {1000};
  const int64_t endless[1] = {((int64_t)1 << 62) + 1}; /* Four bytes modulo 2^64. */
  int64_t shape[2] = {2, 3};
  EXPECT(skiff_model_open(path, &model, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_model_symbol_count(model) == 2 && skiff_model_symbol_count(NULL) == 0);

  EXPECT(skiff_model_input_type(model, 0, 0, &tensor, message, sizeof(message)) == SKIFF_OK);
  EXPECT(tensor.extents[0] == -1 && tensor.extents[1] == 3);
  EXPECT(skiff_model_output_type(model, 0, 0, &tensor, message, sizeof(message)) == SKIFF_OK);
  EXPECT(tensor.extents[0] == -1 && tensor.extents[1] == 3);
  n = skiff_model_input_symbol(model, 0, 0, 0);
  EXPECT(n >= 0 && strcmp(skiff_model_symbol_name(model, n), "n") == 0);
  EXPECT(skiff_model_output_symbol(model, 0, 0, 0) == n);
  EXPECT(skiff_model_input_symbol(model, 0, 0, 1) == -1 && skiff_model_input_symbol(model, 0, 0, 2) == -1);
  EXPECT(skiff_model_input_symbol(model, 0, 9, 0) == -1 && skiff_model_output_symbol(NULL, 0, 0, 0) == -1);
  EXPECT(skiff_model_symbol_range(model, n, &min, &max, &multiple, message, sizeof(message)) == SKIFF_OK);
  EXPECT(min == 2 && max == 8 && multiple == 2);
  EXPECT(skiff_model_symbol_range(model, 1 - n, NULL, &max, NULL, message, sizeof(message)) == SKIFF_OK);
  EXPECT(max == SKIFF_UNBOUNDED);
  EXPECT(skiff_model_symbol_range(model, 2, &min, &max, &multiple, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "no symbol 2; the model has 2") && skiff_model_symbol_name(model, 2) == NULL);

  skiff_session_options_init(&options, sizeof(options));
  EXPECT(options.kept_shapes == 0);
  options.kept_shapes = -1;
  EXPECT(skiff_session_create(model, &options, &session, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "kept_shapes is -1"));
  options.kept_shapes = 1;
  options.reserved = 1;
  EXPECT(skiff_session_create(model, &options, &session, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "SkiffSessionOptions::reserved"));
  options.reserved = 0;
  options.exact = 1;
  EXPECT(skiff_session_create(model, &options, &session, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_input_buffer(session, 0, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "open dimensions"));
  EXPECT(skiff_session_input_buffer_of_shape(session, 0, NULL, 2, &tensor, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_session_input_buffer_of_shape(session, 0, shape, 9, &tensor, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_session_input_buffer_of_shape(session, 1, endless, 1, &tensor, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "has more than 2^46 bytes"));
  EXPECT(skiff_session_input_buffer_of_shape(session, 1, many, 1, &tensor, message, sizeof(message)) ==
         SKIFF_OK);
  for (shape[0] = 0; shape[0] <= 10; ++shape[0]) {
    const int allowed = shape[0] >= 2 && shape[0] <= 8 && shape[0] % 2 == 0;
    EXPECT(skiff_session_input_buffer_of_shape(session, 0, shape, 2, &tensor, message, sizeof(message)) ==
           (allowed ? SKIFF_OK : SKIFF_NO_MATCHING_BUCKET));
    EXPECT(allowed || Says(message, "'n'"));
    if (!allowed) continue;
    EXPECT(tensor.extents[0] == shape[0] && tensor.extents[1] == 3);
    for (i = 0; i < shape[0] * 3; ++i) ((float*)tensor.data)[i] = (float)i;
    EXPECT(skiff_session_run(session, message, sizeof(message)) == SKIFF_OK);
    EXPECT(skiff_session_output(session, 0, &tensor, message, sizeof(message)) == SKIFF_OK);
    EXPECT(tensor.extents[0] == shape[0]);
    for (i = 0; i < shape[0] * 3; ++i) EXPECT(((float*)tensor.data)[i] == 2 * (float)i);
  }
  skiff_session_memory_usage(session, &usage, sizeof(usage));
  EXPECT(usage.inputs >= 8 * 3 * sizeof(float) + 1000 * sizeof(int32_t));
  skiff_session_destroy(session);
  skiff_model_close(model);
  return NULL;
}

/* Runs step with x = 2; -1 where something failed. */
static float Step(SkiffSession* session) {
  const float two = 2;
  SkiffTensor x = {NULL, SKIFF_DTYPE_F32, 0, {0}};
  SkiffTensor result;
  x.data = (void*)&two;
  if (skiff_session_set_input(session, 0, &x, NULL, 0) != SKIFF_OK) return -1;
  if (skiff_session_run(session, NULL, 0) != SKIFF_OK) return -1;
  if (skiff_session_output(session, 0, &result, NULL, 0) != SKIFF_OK) return -1;
  return *(const float*)result.data;
}

const char* ReadTheSettings(const char* path) {
  char message[256];
  SkiffModel* model = NULL;
  struct {
    SkiffImageSpec spec;
    uint32_t unknown; /* A field that a later header may have. */
  } newer = {{7, 7, 7, 7, 7, {7}, {7}, 7, 7, 7, 7}, 7};
  SkiffImageSpec spec;
  uint32_t width = 7;
  EXPECT(skiff_model_open(path, &model, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_model_input_image(model, 0, 0, &spec, sizeof(spec)) != 0);
  EXPECT(spec.width == 16 && spec.height == 16 && spec.channels == 3 && spec.bgr != 0 && spec.nhwc != 0);
  EXPECT(spec.mean[0] == 1 && spec.mean[1] == 2 && spec.mean[2] == 3);
  EXPECT(spec.scale[0] == 0.5f && spec.scale[1] == 0.25f && spec.scale[2] == 0.125f);
  EXPECT(spec.fit == SKIFF_FIT_CROP && spec.filter == SKIFF_FILTER_NEAREST);
  EXPECT(spec.resize == 20 && spec.fill == 0);
  EXPECT(skiff_model_input_image(model, 0, 0, NULL, 0) != 0);
  EXPECT(skiff_model_input_image(model, 0, 0, (SkiffImageSpec*)&width, sizeof(width)) != 0 && width == 16);
  EXPECT(skiff_model_input_image(model, 0, 0, &newer.spec, sizeof(newer)) != 0);
  EXPECT(newer.spec.scale[2] == 0.125f && newer.unknown == 0);
  EXPECT(skiff_model_input_image(model, 0, 1, &spec, sizeof(spec)) == 0 && spec.width == 0);
  EXPECT(skiff_model_input_image(model, -1, 0, NULL, 0) == 0);
  EXPECT(skiff_model_input_image(NULL, 0, 0, NULL, 0) == 0);

  EXPECT(skiff_model_output_label_count(model, 0, 0) == kScores);
  EXPECT(strcmp(skiff_model_output_label(model, 0, 0, 0), "a") == 0);
  EXPECT(strcmp(skiff_model_output_label(model, 0, 0, kScores - 1), "j") == 0);
  EXPECT(skiff_model_output_label(model, 0, 0, kScores) == NULL);
  EXPECT(skiff_model_output_label(model, 0, 0, -1) == NULL);
  EXPECT(skiff_model_output_label_count(model, 0, 1) == 0 &&
         skiff_model_output_label_count(model, 1, 0) == 0);
  EXPECT(skiff_model_output_label_count(NULL, 0, 0) == 0 && skiff_model_output_label(NULL, 0, 0, 0) == NULL);
  skiff_model_close(model);
  return NULL;
}

const char* WritePictures(const char* path) {
  static const uint8_t kPixels[2 * 4] = {10, 20, 30, 40, 50, 60, 70, 80}; /* 2 wide, 1 high; BGRA. */
  const SkiffPixels picture = {kPixels, 2, 1, SKIFF_PIXELS_BGRA8, 0, 0};
  SkiffPixels wrong = picture;
  char message[256];
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  SkiffImageInput* image = NULL;
  SkiffImageSpec spec;
  SkiffImagePlacement place;
  SkiffClassScore best[3];
  SkiffTensor input;
  SkiffTensor scores;
  int32_t count = 7;
  EXPECT(skiff_model_open(path, &model, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_create(model, NULL, &session, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_input_buffer(session, 0, &input, message, sizeof(message)) == SKIFF_OK);
  /* As the file says: the crop's shorter side becomes 20, so that all columns are of both pixels' middle. */
  EXPECT(skiff_image_input_create(model, 0, 0, NULL, 0, &image, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_image_input_write(image, &picture, sizeof(picture), &input, 0, message, sizeof(message)) ==
         SKIFF_OK);
  /* Blue first: (10 - 1) / 2 on the left, (50 - 1) / 2 on the right. */
  EXPECT(((const float*)input.data)[0] == 4.5f && ((const float*)input.data)[15 * 3] == 24.5f);
  EXPECT(((const float*)input.data)[2] == (30 - 3) * 0.125f);
  EXPECT(skiff_image_input_place(image, 2, 1, &place, sizeof(place), message, sizeof(message)) == SKIFF_OK);
  EXPECT(place.width == 40 && place.height == 20 && place.left == -12 && place.top == -2);
  EXPECT(skiff_image_input_place(image, 0, 1, &place, sizeof(place), message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  wrong.format = 77;
  EXPECT(skiff_image_input_write(image, &wrong, sizeof(wrong), &input, 0, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(strstr(message, "pixel format") != NULL);
  EXPECT(skiff_image_input_write(image, &picture, 8, &input, 0, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_image_input_write(image, NULL, sizeof(picture), &input, 0, NULL, 0) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_image_input_write(NULL, &picture, sizeof(picture), &input, 0, NULL, 0) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_image_input_write(image, &picture, sizeof(picture), NULL, 0, NULL, 0) ==
         SKIFF_INVALID_ARGUMENT);
  skiff_image_input_destroy(image);
  skiff_image_input_destroy(NULL);

  /* Settings of the program's own; an older program's struct ends before the newer fields. */
  EXPECT(skiff_model_input_image(model, 0, 0, &spec, sizeof(spec)) != 0);
  spec.bgr = 0;
  EXPECT(skiff_image_input_create(model, 0, 0, &spec, offsetof(SkiffImageSpec, fit), &image, message,
                                  sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_image_input_write(image, &picture, sizeof(picture), &input, 0, message, sizeof(message)) ==
         SKIFF_OK);
  EXPECT(((const float*)input.data)[0] == (30 - 1) * 0.5f);
  skiff_image_input_destroy(image);
  spec.filter = 9;
  EXPECT(skiff_image_input_create(model, 0, 0, &spec, sizeof(spec), &image, message, sizeof(message)) ==
             SKIFF_INVALID_ARGUMENT &&
         image == NULL && strstr(message, "filter") != NULL);
  EXPECT(skiff_image_input_create(model, 0, 1, NULL, 0, &image, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_image_input_create(NULL, 0, 0, NULL, 0, &image, NULL, 0) == SKIFF_INVALID_ARGUMENT);

  EXPECT(skiff_session_run(session, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_output(session, 0, &scores, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_model_best_classes(model, 0, 0, &scores, 1, 0, best, 3, &count, message, sizeof(message)) ==
         SKIFF_OK);
  EXPECT(count == 3 && best[0].score >= best[1].score && best[1].score >= best[2].score);
  EXPECT(best[0].score <= 1 && best[2].score >= 0);
  EXPECT(strcmp(best[0].label, skiff_model_output_label(model, 0, 0, (int32_t)best[0].index)) == 0);
  /* What pooling leaves behind the classes are none. */
  scores.rank = 4;
  scores.extents[2] = scores.extents[3] = 1;
  EXPECT(skiff_model_best_classes(model, 0, 0, &scores, 0, 0, best, 3, &count, message, sizeof(message)) ==
         SKIFF_OK);
  EXPECT(count == 3 && best[0].score >= best[1].score && best[1].score >= best[2].score);
  scores.rank = 2;
  EXPECT(skiff_model_best_classes(model, 0, 0, &scores, 0, 1, best, 3, &count, message, sizeof(message)) ==
             SKIFF_INVALID_ARGUMENT &&
         count == 0 && strstr(message, "no row 1") != NULL);
  EXPECT(skiff_model_best_classes(model, 0, 9, &scores, 0, 0, best, 3, NULL, NULL, 0) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_model_best_classes(model, 0, 0, &scores, 0, 0, NULL, 3, NULL, NULL, 0) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_model_best_classes(model, 0, 0, &scores, 0, 0, best, 0, NULL, NULL, 0) ==
         SKIFF_INVALID_ARGUMENT);
  skiff_session_destroy(session);
  skiff_model_close(model);
  return NULL;
}

const char* TellTheQuantization(const char* path) {
  static const float numbers[4] = {0.25f, 0.75f, -1000, 1000};
  char message[256];
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  struct {
    SkiffQuantization known;
    uint32_t unknown; /* A field that a later header may have. */
  } newer;
  SkiffQuantization x, rows, y;
  SkiffTensor tensor;
  float scale = 7;
  float back[6];
  const float table[6] = {1, 1, 1, -2, 0.75f, 7};
  int i;
  EXPECT(skiff_model_open(path, &model, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_model_input_quantization(model, 0, 0, &x, sizeof(x)) != 0);
  EXPECT(x.scale == 0.5f && x.zero_point == -3 && x.axis == -1 && x.reserved == 0);
  EXPECT(x.block == 0 && x.count == 1 && x.scales == NULL && x.zero_points == NULL);
  EXPECT(skiff_model_output_quantization(model, 0, 0, &rows, sizeof(rows)) != 0);
  EXPECT(rows.axis == 1 && rows.block == 0 && rows.count == 3);
  EXPECT(rows.scales[0] == 1 && rows.scales[1] == 0.5f && rows.scales[2] == 2);
  EXPECT(rows.zero_points[0] == 0 && rows.zero_points[1] == 10 && rows.zero_points[2] == -10);

  /* Plain, out of range, only asked, and structs of other ages. */
  EXPECT(skiff_model_input_quantization(model, 0, 1, &y, sizeof(y)) == 0 && y.scale == 0 && y.count == 0);
  EXPECT(skiff_model_output_quantization(model, 0, 2, &y, sizeof(y)) == 0 && y.scale == 0);
  EXPECT(skiff_model_output_quantization(model, 0, 9, NULL, 0) == 0);
  EXPECT(skiff_model_input_quantization(model, -1, 0, NULL, 0) == 0);
  EXPECT(skiff_model_input_quantization(NULL, 0, 0, NULL, 0) == 0);
  EXPECT(skiff_model_input_quantization(model, 0, 0, NULL, 0) != 0);
  EXPECT(skiff_model_input_quantization(model, 0, 0, (SkiffQuantization*)&scale, sizeof(scale)) != 0);
  EXPECT(scale == 0.5f);
  memset(&newer, 0xff, sizeof(newer));
  EXPECT(skiff_model_output_quantization(model, 0, 1, &newer.known, sizeof(newer)) != 0);
  EXPECT(newer.known.scale == 0.25f && newer.known.zero_point == 100 && newer.unknown == 0);

  /* From real numbers to real numbers: halves go to the even one, and what is too large stays at the end. */
  EXPECT(skiff_session_create(model, NULL, &session, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_input_buffer(session, 0, &tensor, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_quantize(&x, sizeof(x), numbers, &tensor, message, sizeof(message)) == SKIFF_OK);
  EXPECT(((int8_t*)tensor.data)[0] == -3 && ((int8_t*)tensor.data)[1] == -1);
  EXPECT(((int8_t*)tensor.data)[2] == -128 && ((int8_t*)tensor.data)[3] == 127);
  EXPECT(skiff_session_input_buffer(session, 1, &tensor, message, sizeof(message)) == SKIFF_OK);
  memcpy(tensor.data, table, sizeof(table));
  EXPECT(skiff_session_run(session, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_output(session, 0, &tensor, message, sizeof(message)) == SKIFF_OK);
  EXPECT(((int16_t*)tensor.data)[1] == 12 && ((int16_t*)tensor.data)[5] == -6); /* 3.5 is 4. */
  EXPECT(skiff_dequantize(&rows, sizeof(rows), &tensor, back, message, sizeof(message)) == SKIFF_OK);
  EXPECT(back[0] == 1 && back[1] == 1 && back[2] == 0 && back[3] == -2 && back[4] == 1 && back[5] == 8);
  EXPECT(skiff_session_output(session, 1, &tensor, message, sizeof(message)) == SKIFF_OK);
  EXPECT(tensor.dtype == SKIFF_DTYPE_U8);
  EXPECT(skiff_dequantize(&newer.known, sizeof(newer), &tensor, back, message, sizeof(message)) == SKIFF_OK);
  EXPECT(back[0] == 0 && back[1] == 1 && back[2] == -25 && back[3] == 38.75f);

  /* The model's own Quantize and these functions agree. */
  EXPECT(skiff_session_output(session, 2, &tensor, message, sizeof(message)) == SKIFF_OK);
  for (i = 0; i < 4; ++i)
    EXPECT(((float*)tensor.data)[i] == (i == 0 ? 0 : i == 1 ? 1 : i == 2 ? -62.5f : 65));

  /* Misuse. */
  EXPECT(skiff_session_input_buffer(session, 0, &tensor, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_quantize(&rows, sizeof(rows), table, &tensor, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "i8 [4]") && Says(message, "the axis of its scales is not one of its axes"));
  EXPECT(skiff_model_input_quantization(model, 0, 1, &y, sizeof(y)) == 0);
  EXPECT(skiff_quantize(&y, sizeof(y), table, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_quantize(&x, 4, numbers, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "sizeof(SkiffQuantization)"));
  EXPECT(skiff_quantize(NULL, sizeof(x), numbers, &tensor, message, sizeof(message)) ==
         SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_quantize(&x, sizeof(x), NULL, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_quantize(&x, sizeof(x), numbers, NULL, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_dequantize(&x, sizeof(x), &tensor, NULL, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  newer.unknown = 1;
  EXPECT(skiff_quantize(&newer.known, sizeof(newer), numbers, &tensor, message, sizeof(message)) ==
         SKIFF_UNSUPPORTED);
  x.reserved = 1;
  EXPECT(skiff_quantize(&x, sizeof(x), numbers, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  x.reserved = 0;
  tensor.dtype = SKIFF_DTYPE_F32;
  EXPECT(skiff_quantize(&x, sizeof(x), numbers, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  tensor.dtype = SKIFF_DTYPE_I4;
  EXPECT(skiff_quantize(&x, sizeof(x), numbers, &tensor, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "only constants"));
  skiff_session_destroy(session);
  skiff_model_close(model);
  return NULL;
}

const char* KeepTheState(const char* path) {
  char message[256];
  SkiffModel* model = NULL;
  SkiffSession* step = NULL;
  SkiffSession* reset = NULL;
  SkiffSessionOptions options;
  SkiffMemoryUsage usage;
  SkiffTensor count;
  EXPECT(skiff_model_open(path, &model, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_model_variable_count(model) == 1 && skiff_model_variable_count(NULL) == 0);
  EXPECT(strcmp(skiff_model_variable_name(model, 0), "count") == 0);
  EXPECT(skiff_model_variable_name(model, 1) == NULL && skiff_model_variable_name(model, -1) == NULL);

  skiff_session_options_init(&options, sizeof(options));
  options.signature = "step";
  EXPECT(skiff_session_create(model, &options, &step, message, sizeof(message)) == SKIFF_OK);
  skiff_session_memory_usage(step, &usage, sizeof(usage));
  EXPECT(usage.variables >= sizeof(float));
  EXPECT(Step(step) == 3 && Step(step) == 5);
  EXPECT(skiff_session_variable(step, 0, &count, message, sizeof(message)) == SKIFF_OK);
  EXPECT(count.dtype == SKIFF_DTYPE_F32 && count.rank == 0 && *(const float*)count.data == 5);
  *(float*)count.data = 10;
  EXPECT(Step(step) == 12);
  skiff_session_reset_variables(step);
  EXPECT(Step(step) == 3);

  options.signature = "reset";
  options.variables_of = step;
  EXPECT(skiff_session_create(model, &options, &reset, message, sizeof(message)) == SKIFF_OK);
  EXPECT(skiff_session_run(reset, message, sizeof(message)) == SKIFF_OK);
  EXPECT(Step(step) == 2);

  EXPECT(skiff_session_variable(step, 1, &count, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(Says(message, "there is no variable 1; the model has 1"));
  EXPECT(skiff_session_variable(NULL, 0, &count, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  EXPECT(skiff_session_variable(step, 0, NULL, message, sizeof(message)) == SKIFF_INVALID_ARGUMENT);
  skiff_session_reset_variables(NULL);
  skiff_session_destroy(reset);
  skiff_session_destroy(step);
  skiff_model_close(model);
  return NULL;
}

typedef struct Heard {
  int count;
  int32_t level;
  char text[256];
} Heard;

static void Hear(void* user, int32_t level, const char* message) {
  Heard* heard = user;
  ++heard->count;
  heard->level = level;
  strncpy(heard->text, message, sizeof(heard->text) - 1);
}

const char* SinkTheLog(void) {
  Heard heard = {0, -1, ""};
  char message[256];
  SkiffModel* model = NULL;
  skiff_set_log_sink(Hear, &heard);
  EXPECT(skiff_model_open("no/such/file.skiff", &model, NULL, 0) == SKIFF_IO);
  EXPECT(heard.count == 1 && heard.level == SKIFF_LOG_ERROR && Says(heard.text, "no/such/file.skiff"));
  EXPECT(skiff_model_open("no/such/file.skiff", &model, message, sizeof(message)) == SKIFF_IO);
  EXPECT(heard.count == 1 && strcmp(message, heard.text) == 0);
  skiff_set_log_sink(NULL, NULL);
  return NULL;
}

const char* NameTheNumbers(void) {
  EXPECT(strcmp(skiff_status_name(SKIFF_OK), "ok") == 0);
  EXPECT(strcmp(skiff_status_name(SKIFF_INTERNAL), "internal error") == 0);
  EXPECT(strcmp(skiff_status_name((SkiffStatus)256), "unknown status") == 0);
  EXPECT(strcmp(skiff_dtype_name(SKIFF_DTYPE_BOOL), "bool") == 0 && skiff_dtype_size(SKIFF_DTYPE_F64) == 8);
  EXPECT(strcmp(skiff_dtype_name(SKIFF_DTYPE_U4), "u4") == 0 && skiff_dtype_size(SKIFF_DTYPE_I4) == 0);
  EXPECT(strcmp(skiff_dtype_name(256 + SKIFF_DTYPE_F32), "invalid") == 0 && skiff_dtype_size(-1) == 0);
  return NULL;
}

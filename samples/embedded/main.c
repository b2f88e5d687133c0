/* Names the character in each picture of a stream, the way a program on a small board would: plain C, one
   thread, a limit on memory, nothing written to the disk, nothing allocated once it runs. Exit codes: 0 done,
   1 bad model, file or picture, 2 usage. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "skiff/skiff.h"

enum { kSide = 32, kChannels = 3, kPixels = kSide * kSide, kClasses = 36, kMegabyte = 1 << 20 };

static const char* const kUsage =
    "usage: skiff-classify MODEL LABELS PICTURES\n"
    "MODEL: samples/characters, converted; LABELS: its labels.txt; PICTURES: 32x32 pixels of 3 bytes (red, "
    "green,\n"
    "blue) each, one picture after the other, or - for stdin\n";

static int Fail(const char* what, const char* why) {
  fprintf(stderr, "skiff-classify: error: %s: %s\n", what, why);
  return 0;
}

static int ReadLabels(const char* path, char labels[kClasses][16]) {
  FILE* file = fopen(path, "r");
  int count = 0;
  if (file == NULL) return Fail(path, "cannot be opened");
  while (count < kClasses && fscanf(file, "%15s", labels[count]) == 1) ++count;
  fclose(file);
  return count == kClasses || Fail(path, "expected 36 labels, one a line");
}

static int IsImage(const SkiffTensor* type) {
  return type->dtype == SKIFF_DTYPE_F32 && type->rank == 4 && type->extents[0] == 1 &&
         type->extents[1] == kChannels && type->extents[2] == kSide && type->extents[3] == kSide;
}

/* The session, and the one input that every picture is written to. */
static SkiffSession* Start(SkiffModel* model, float** input, char* message, size_t size) {
  SkiffSession* session = NULL;
  SkiffSessionOptions options;
  SkiffTensor image;
  skiff_session_options_init(&options, sizeof(options));
  options.threads = 1;
  options.memory_limit = 8 * kMegabyte;
  if (skiff_session_create(model, &options, &session, message, size) != SKIFF_OK) return NULL;
  if (skiff_session_input_buffer(session, 0, &image, message, size) == SKIFF_OK) {
    if (IsImage(&image)) {
      *input = image.data;
      return session;
    }
    snprintf(message, size, "its input is not f32[1, 3, 32, 32]; convert samples/characters/characters.onnx");
  }
  skiff_session_destroy(session);
  return NULL;
}

/* Interleaved bytes to planes of (value - 127.5) / 127.5, as samples/characters/README.md says. */
static void Preprocess(const unsigned char* picture, float* input) {
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    for (int channel = 0; channel < kChannels; ++channel)
      input[channel * kPixels + pixel] = ((float)picture[pixel * kChannels + channel] - 127.5f) / 127.5f;
  }
}

static void Answer(const float* logits, char labels[kClasses][16], double milliseconds) {
  int best = 0;
  double sum = 0;
  for (int i = 1; i < kClasses; ++i)
    if (logits[i] > logits[best]) best = i;
  for (int i = 0; i < kClasses; ++i) sum += exp((double)logits[i] - (double)logits[best]);
  printf("%s  probability %.3f  %.2f ms\n", labels[best], 1 / sum, milliseconds);
}

static double Milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int ClassifyAll(SkiffSession* session, float* input, FILE* pictures, char labels[kClasses][16],
                       char* message, size_t size) {
  unsigned char picture[kPixels * kChannels];
  size_t got;
  while ((got = fread(picture, 1, sizeof(picture), pictures)) == sizeof(picture)) {
    const double begin = Milliseconds();
    SkiffTensor logits;
    Preprocess(picture, input);
    if (skiff_session_run(session, message, size) != SKIFF_OK) return Fail("run", message);
    if (skiff_session_output(session, 0, &logits, message, size) != SKIFF_OK) return Fail("output", message);
    if (logits.dtype != SKIFF_DTYPE_F32 || logits.rank != 2 || logits.extents[1] != kClasses)
      return Fail("output", "expected f32[1, 36]");
    Answer(logits.data, labels, Milliseconds() - begin);
  }
  return got == 0 || Fail("the last picture", "is shorter than 3072 bytes");
}

int main(int argc, char** argv) {
  static char labels[kClasses][16];
  char message[1024];
  SkiffModel* model = NULL;
  SkiffSession* session = NULL;
  SkiffMemoryUsage usage;
  FILE* pictures;
  float* input = NULL;
  int done;
  if (argc != 4) {
    fputs(kUsage, stderr);
    return 2;
  }
  if (!ReadLabels(argv[2], labels)) return 1;
  pictures = strcmp(argv[3], "-") == 0 ? stdin : fopen(argv[3], "rb");
  if (pictures == NULL) return !Fail(argv[3], "cannot be opened");
  if (skiff_model_open(argv[1], &model, message, sizeof(message)) == SKIFF_OK)
    session = Start(model, &input, message, sizeof(message));
  if (session == NULL) {
    skiff_model_close(model);
    return !Fail(argv[1], message);
  }
  done = ClassifyAll(session, input, pictures, labels, message, sizeof(message));
  skiff_session_memory_usage(session, &usage, sizeof(usage));
  printf("memory of the session: %llu KiB\n",
         (unsigned long long)((usage.arena + usage.workspace + usage.packed_weights + usage.inputs) / 1024));
  skiff_session_destroy(session);
  skiff_model_close(model);
  return done ? 0 : 1;
}

/* Names the character in each picture of a stream, the way a program on a small board would: plain C, one
   thread, a limit on memory, nothing written to the disk, nothing allocated once it runs. Exit codes: 0 done,
   1 bad model, file or picture, 2 usage. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "skiff/image_c.h"

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

/* How the pictures of the training became inputs, as samples/characters/README.md says. A file that was
   converted with these settings has them itself: pass null in their place. */
static const SkiffImageSpec kSettings = {
    kSide,
    kSide,
    kChannels,
    0, /* red first */
    0, /* channels first */
    {127.5f, 127.5f, 127.5f, 0},
    {1 / 127.5f, 1 / 127.5f, 1 / 127.5f, 0},
    SKIFF_FIT_STRETCH,
    SKIFF_FILTER_LINEAR,
    0,
    0,
};

/* The session, its one input, and what writes every picture to it. */
typedef struct Classifier {
  SkiffSession* session;
  SkiffTensor input;
  SkiffImageInput* image;
} Classifier;

static int Start(SkiffModel* model, Classifier* classifier, char* message, size_t size) {
  SkiffSessionOptions options;
  skiff_session_options_init(&options, sizeof(options));
  options.threads = 1;
  options.memory_limit = 8 * kMegabyte;
  return skiff_session_create(model, &options, &classifier->session, message, size) == SKIFF_OK &&
         skiff_session_input_buffer(classifier->session, 0, &classifier->input, message, size) == SKIFF_OK &&
         skiff_image_input_create(model, 0, 0, &kSettings, sizeof(kSettings), &classifier->image, message,
                                  size) == SKIFF_OK;
}

static double Milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int ClassifyAll(const SkiffModel* model, const Classifier* classifier, FILE* pictures,
                       char labels[kClasses][16], char* message, size_t size) {
  unsigned char picture[kPixels * kChannels];
  const SkiffPixels pixels = {picture, kSide, kSide, SKIFF_PIXELS_RGB8, 0, 0};
  size_t got;
  while ((got = fread(picture, 1, sizeof(picture), pictures)) == sizeof(picture)) {
    const double begin = Milliseconds();
    SkiffTensor logits;
    SkiffClassScore best;
    if (skiff_image_input_write(classifier->image, &pixels, sizeof(pixels), &classifier->input, 0, message,
                                size) != SKIFF_OK)
      return Fail("input", message);
    if (skiff_session_run(classifier->session, message, size) != SKIFF_OK) return Fail("run", message);
    if (skiff_session_output(classifier->session, 0, &logits, message, size) != SKIFF_OK)
      return Fail("output", message);
    if (logits.rank != 2 || logits.extents[1] != kClasses) return Fail("output", "expected [1, 36]");
    if (skiff_model_best_classes(model, 0, 0, &logits, 1, 0, &best, 1, NULL, message, size) != SKIFF_OK)
      return Fail("output", message);
    printf("%s  probability %.3f  %.2f ms\n", labels[best.index], best.score, Milliseconds() - begin);
  }
  return got == 0 || Fail("the last picture", "is shorter than 3072 bytes");
}

int main(int argc, char** argv) {
  static char labels[kClasses][16];
  char message[1024];
  SkiffModel* model = NULL;
  Classifier classifier = {NULL, {NULL, 0, 0, {0}}, NULL};
  SkiffMemoryUsage usage;
  FILE* pictures;
  int done = 0;
  if (argc != 4) {
    fputs(kUsage, stderr);
    return 2;
  }
  if (!ReadLabels(argv[2], labels)) return 1;
  pictures = strcmp(argv[3], "-") == 0 ? stdin : fopen(argv[3], "rb");
  if (pictures == NULL) return !Fail(argv[3], "cannot be opened");
  if (skiff_model_open(argv[1], &model, message, sizeof(message)) != SKIFF_OK ||
      !Start(model, &classifier, message, sizeof(message))) {
    Fail(argv[1], message);
  } else {
    done = ClassifyAll(model, &classifier, pictures, labels, message, sizeof(message));
    skiff_session_memory_usage(classifier.session, &usage, sizeof(usage));
    printf(
        "memory of the session: %llu KiB\n",
        (unsigned long long)((usage.arena + usage.workspace + usage.packed_weights + usage.inputs) / 1024));
  }
  skiff_image_input_destroy(classifier.image);
  skiff_session_destroy(classifier.session);
  skiff_model_close(model);
  return done ? 0 : 1;
}

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>

#include "natives.h"
#include "skiff/image_c.h"
#include "support.h"

namespace skiff::jni {
namespace {

/// The pixels of an int[] while this lives, in which no other function of JNI may be called; or of a direct
/// buffer.
class PixelMemory {
 public:
  PixelMemory(JNIEnv* env, jobject memory, jint offset, bool array)
      : env_(env), array_(array ? static_cast<jintArray>(memory) : nullptr) {
    data_ = array ? env->GetPrimitiveArrayCritical(array_, nullptr)
                  : static_cast<uint8_t*>(env->GetDirectBufferAddress(memory)) + offset;
  }
  ~PixelMemory() {
    if (array_ != nullptr && data_ != nullptr) env_->ReleasePrimitiveArrayCritical(array_, data_, JNI_ABORT);
  }
  PixelMemory(const PixelMemory&) = delete;
  PixelMemory& operator=(const PixelMemory&) = delete;
  const void* data() const { return data_; }

 private:
  JNIEnv* env_;
  jintArray array_;
  void* data_;
};

/// Where one picture goes: extents that are open become the picture's.
SkiffStatus InputFor(const SkiffModel* model, SkiffSession* session, jint signature, jint input,
                     SkiffTensor* tensor, char* message, size_t size) {
  SkiffImageSpec spec;
  SkiffTensor type;
  const SkiffStatus status = skiff_model_input_type(model, signature, input, &type, message, size);
  if (status != SKIFF_OK) return status;
  skiff_model_input_image(model, signature, input, &spec, sizeof(spec));
  const int64_t picture[] = {1, spec.nhwc != 0 ? spec.height : spec.channels,
                             spec.nhwc != 0 ? spec.width : spec.height,
                             spec.nhwc != 0 ? spec.channels : spec.width};
  for (int32_t axis = 0; axis < std::min(type.rank, 4); ++axis) {
    if (type.extents[axis] < 0) type.extents[axis] = picture[axis];
  }
  return skiff_session_input_buffer_of_shape(session, input, type.extents, type.rank, tensor, message, size);
}

void WriteImage(JNIEnv* env, jclass, jlong session, jlong model, jint signature, jint input, jobject memory,
                jint offset, jint format, jint width, jint height, jint row_bytes, jint orientation) {
  const jclass buffers = env->FindClass("java/nio/ByteBuffer");
  if (buffers == nullptr) return;
  const bool array = env->IsInstanceOf(memory, buffers) == JNI_FALSE;
  Succeeds(env, [&](char* message, size_t size) {
    SkiffImageInput* image = nullptr;
    SkiffTensor to;
    const auto* from = FromHandle<SkiffModel>(model);
    SkiffStatus status = skiff_image_input_create(from, signature, input, nullptr, 0, &image, message, size);
    if (status == SKIFF_OK)
      status = InputFor(from, FromHandle<SkiffSession>(session), signature, input, &to, message, size);
    if (status == SKIFF_OK && to.extents[0] != 1) {
      // Written one by one they would need a number; the others would keep what they had.
      status = SKIFF_INVALID_ARGUMENT;
      std::snprintf(message, size, "the input takes %lld pictures at a time; write them to its inputBuffer()",
                    static_cast<long long>(to.extents[0]));
    }
    if (status == SKIFF_OK) {
      const PixelMemory pixels(env, memory, offset, array);
      const SkiffPixels picture = {
          pixels.data(), static_cast<uint32_t>(width), static_cast<uint32_t>(height), format, orientation,
          row_bytes};
      status = skiff_image_input_write(image, &picture, sizeof(picture), &to, 0, message, size);
    }
    skiff_image_input_destroy(image);
    return status;
  });
}

jdoubleArray BestClasses(JNIEnv* env, jclass, jlong session, jlong model, jint signature, jint output,
                         jint most, jboolean softmax) {
  std::unique_ptr<SkiffClassScore[]> best;
  int32_t count = 0;
  const bool found = Succeeds(env, [&](char* message, size_t size) {
    SkiffTensor scores;
    const SkiffStatus status =
        skiff_session_output(FromHandle<SkiffSession>(session), output, &scores, message, size);
    if (status != SKIFF_OK) return status;
    int64_t elements = 1;
    for (int32_t i = 0; i < scores.rank; ++i) elements *= scores.extents[i];
    const auto room = static_cast<int32_t>(std::clamp<int64_t>(elements, 1, most));
    best.reset(new (std::nothrow) SkiffClassScore[static_cast<size_t>(room)]);
    if (!best) {
      std::snprintf(message, size, "no memory for the %d best classes", room);
      return SKIFF_OUT_OF_MEMORY;
    }
    return skiff_model_best_classes(FromHandle<SkiffModel>(model), signature, output, &scores,
                                    softmax != JNI_FALSE, 0, best.get(), room, &count, message, size);
  });
  if (!found) return nullptr;
  const jdoubleArray result = env->NewDoubleArray(2 * count);
  for (int32_t i = 0; i < count && result != nullptr; ++i) {
    const jdouble pair[] = {static_cast<jdouble>(best[i].index), best[i].score};
    env->SetDoubleArrayRegion(result, 2 * i, 2, pair);
  }
  return result;
}

}  // namespace

Natives ImageNatives() {
  static const JNINativeMethod kMethods[] = {
      Native("writeImage", "(JJIILjava/lang/Object;IIIIII)V", &WriteImage),
      Native("bestClasses", "(JJIIIZ)[D", &BestClasses),
  };
  return {kMethods, sizeof(kMethods) / sizeof(kMethods[0])};
}

}  // namespace skiff::jni

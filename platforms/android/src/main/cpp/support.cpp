#include "support.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace skiff::jni {
namespace {

jclass exception_class = nullptr;
jmethodID exception_constructor = nullptr;

}  // namespace

bool LoadException(JNIEnv* env) {
  const jclass found = env->FindClass("io/skiff/SkiffException");
  if (found == nullptr) return false;
  exception_constructor = env->GetMethodID(found, "<init>", "(I[B)V");
  if (exception_constructor == nullptr) return false;
  // A global reference: a native method may not see the application's class loader.
  exception_class = static_cast<jclass>(env->NewGlobalRef(found));
  env->DeleteLocalRef(found);
  return exception_class != nullptr;
}

void UnloadException(JNIEnv* env) { env->DeleteGlobalRef(exception_class); }

void Throw(JNIEnv* env, SkiffStatus status, const char* sentence) {
  const jbyteArray bytes = ToBytes(env, sentence);
  if (bytes == nullptr) return;  // An OutOfMemoryError is pending instead.
  const jobject exception =
      env->NewObject(exception_class, exception_constructor, static_cast<jint>(status), bytes);
  if (exception != nullptr) env->Throw(static_cast<jthrowable>(exception));
}

Text::Text(JNIEnv* env, jbyteArray utf8) {
  if (utf8 == nullptr) return;
  const jsize length = env->GetArrayLength(utf8);
  bytes_.reset(new (std::nothrow) char[static_cast<size_t>(length) + 1]);
  ok_ = bytes_ != nullptr;
  if (!ok_) {
    Throw(env, SKIFF_OUT_OF_MEMORY, "no memory for a text");
    return;
  }
  env->GetByteArrayRegion(utf8, 0, length, reinterpret_cast<jbyte*>(bytes_.get()));
  bytes_[static_cast<size_t>(length)] = '\0';
  ok_ = !env->ExceptionCheck();
}

jbyteArray ToBytes(JNIEnv* env, const char* text) {
  if (text == nullptr) return nullptr;
  const auto length = static_cast<jsize>(std::strlen(text));
  const jbyteArray bytes = env->NewByteArray(length);
  if (bytes == nullptr) return nullptr;
  env->SetByteArrayRegion(bytes, 0, length, reinterpret_cast<const jbyte*>(text));
  return env->ExceptionCheck() ? nullptr : bytes;
}

jlongArray ToLongs(JNIEnv* env, const jlong* values, int count) {
  const jlongArray array = env->NewLongArray(count);
  if (array == nullptr) return nullptr;
  env->SetLongArrayRegion(array, 0, count, values);
  return env->ExceptionCheck() ? nullptr : array;
}

jobject ToBuffer(JNIEnv* env, const SkiffTensor& tensor) {
  int64_t bytes = skiff_dtype_size(tensor.dtype);
  for (int32_t axis = 0; axis < tensor.rank; ++axis) bytes *= tensor.extents[axis];
  if (bytes > std::numeric_limits<jint>::max()) {
    Throw(env, SKIFF_UNSUPPORTED, "the tensor has 2 GiB or more, and a ByteBuffer cannot hold that");
    return nullptr;
  }
  if (bytes != 0 && tensor.data == nullptr) {
    Throw(env, SKIFF_INVALID_ARGUMENT, "the tensor has no memory yet; run the session first");
    return nullptr;
  }
  static char empty;  // An address for a tensor without elements.
  return env->NewDirectByteBuffer(bytes == 0 ? &empty : tensor.data, bytes);
}

}  // namespace skiff::jni

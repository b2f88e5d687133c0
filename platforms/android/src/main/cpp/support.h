/// What every native method needs: text, exceptions, buffers.
#pragma once

#include <jni.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "skiff/skiff.h"

namespace skiff::jni {

/// Finds io.skiff.SkiffException; false, with a Java exception pending, when it is not there.
bool LoadException(JNIEnv* env);
void UnloadException(JNIEnv* env);

/// Makes a SkiffException pending. The caller returns to Java next.
void Throw(JNIEnv* env, SkiffStatus status, const char* sentence);

/// Makes a call that takes a buffer for its sentence, and throws when it fails.
template <class Call>
bool Succeeds(JNIEnv* env, const Call& call) {
  char message[1024];
  const SkiffStatus status = call(message, sizeof(message));
  if (status != SKIFF_OK) Throw(env, status, message);
  return status == SKIFF_OK;
}

/// The object behind a handle that Java keeps.
template <class Object>
Object* FromHandle(jlong handle) {
  return reinterpret_cast<Object*>(static_cast<intptr_t>(handle));  // NOLINT(performance-no-int-to-ptr)
}
inline jlong ToHandle(void* object) { return static_cast<jlong>(reinterpret_cast<intptr_t>(object)); }

/// A byte array of Java's as a C string; null for null.
class Text {
 public:
  Text(JNIEnv* env, jbyteArray utf8);
  /// False, with a Java exception pending, when there was no memory.
  bool ok() const { return ok_; }
  const char* c_str() const { return bytes_.get(); }

 private:
  std::unique_ptr<char[]> bytes_;
  bool ok_ = true;
};

/// Null, with a Java exception pending, when there is no memory. Null also for null.
jbyteArray ToBytes(JNIEnv* env, const char* text);
jlongArray ToLongs(JNIEnv* env, const jlong* values, int count);

/// A direct buffer over a tensor's memory; null, with a Java exception pending, where a buffer cannot hold
/// it, or where there is no memory yet.
jobject ToBuffer(JNIEnv* env, const SkiffTensor& tensor);

}  // namespace skiff::jni

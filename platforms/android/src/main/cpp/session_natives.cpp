#include <algorithm>

#include "natives.h"
#include "support.h"

namespace skiff::jni {
namespace {

SkiffSession* FromJava(jlong session) { return FromHandle<SkiffSession>(session); }

jlong CreateThreadPool(JNIEnv* env, jclass, jint threads) {
  SkiffThreadPool* pool = nullptr;
  Succeeds(env, [&](char* message, size_t size) {
    return skiff_thread_pool_create(threads, &pool, message, size);
  });
  return ToHandle(pool);
}

void DestroyThreadPool(JNIEnv*, jclass, jlong pool) {
  skiff_thread_pool_destroy(FromHandle<SkiffThreadPool>(pool));
}

jlong CreateSession(JNIEnv* env, jclass, jlong model, jint target, jint backend, jint threads,
                    jlong thread_pool, jbyteArray signature, jlong memory_limit, jlong kept_shapes,
                    jboolean fall_back, jboolean exact, jlong variables_of) {
  const Text text(env, signature);
  if (!text.ok()) return 0;
  SkiffSessionOptions options;
  skiff_session_options_init(&options, sizeof(options));
  options.target = target;
  options.backend = backend;
  options.threads = threads;
  options.thread_pool = FromHandle<SkiffThreadPool>(thread_pool);
  options.signature = text.c_str();
  options.memory_limit = static_cast<uint64_t>(memory_limit);
  options.kept_shapes = kept_shapes;
  options.no_fall_back = fall_back == JNI_FALSE;
  options.exact = exact != JNI_FALSE;
  options.variables_of = FromJava(variables_of);
  SkiffSession* session = nullptr;
  Succeeds(env, [&](char* message, size_t size) {
    return skiff_session_create(FromHandle<SkiffModel>(model), &options, &session, message, size);
  });
  return ToHandle(session);
}

void DestroySession(JNIEnv*, jclass, jlong session) { skiff_session_destroy(FromJava(session)); }

/// io.skiff.Session has checked that the buffer is direct and holds the whole tensor.
void GiveInput(JNIEnv* env, decltype(&skiff_session_set_input) give, jlong session, jint index,
               jobject direct, jint offset, jint dtype, jlongArray shape) {
  SkiffTensor tensor = {};
  tensor.data = static_cast<uint8_t*>(env->GetDirectBufferAddress(direct)) + offset;
  tensor.dtype = dtype;
  tensor.rank = env->GetArrayLength(shape);
  env->GetLongArrayRegion(shape, 0, std::min(tensor.rank, SKIFF_MAX_RANK),
                          reinterpret_cast<jlong*>(tensor.extents));
  if (env->ExceptionCheck()) return;
  Succeeds(env, [&](char* message, size_t size) {
    return give(FromJava(session), index, &tensor, message, size);
  });
}

void SetInput(JNIEnv* env, jclass, jlong session, jint index, jobject direct, jint offset, jint dtype,
              jlongArray shape) {
  GiveInput(env, &skiff_session_set_input, session, index, direct, offset, dtype, shape);
}

void BindInput(JNIEnv* env, jclass, jlong session, jint index, jobject direct, jint offset, jint dtype,
               jlongArray shape) {
  GiveInput(env, &skiff_session_bind_input, session, index, direct, offset, dtype, shape);
}

jobject InputBuffer(JNIEnv* env, jclass, jlong session, jint index, jlongArray shape) {
  const jint rank = env->GetArrayLength(shape);
  jlong extents[SKIFF_MAX_RANK] = {};
  env->GetLongArrayRegion(shape, 0, std::min(rank, SKIFF_MAX_RANK), extents);
  if (env->ExceptionCheck()) return nullptr;
  SkiffTensor tensor;
  const bool found = Succeeds(env, [&](char* message, size_t size) {
    return skiff_session_input_buffer_of_shape(
        FromJava(session), index, reinterpret_cast<const int64_t*>(extents), rank, &tensor, message, size);
  });
  return found ? ToBuffer(env, tensor) : nullptr;
}

void Run(JNIEnv* env, jclass, jlong session) {
  Succeeds(env,
           [&](char* message, size_t size) { return skiff_session_run(FromJava(session), message, size); });
}

void Cancel(JNIEnv*, jclass, jlong session) { skiff_session_cancel(FromJava(session)); }

/// A buffer over a tensor; `type` receives its element type, its rank and its extents.
jobject ToJava(JNIEnv* env, const SkiffTensor& tensor, jlongArray type) {
  jlong numbers[2 + SKIFF_MAX_RANK] = {tensor.dtype, tensor.rank};
  std::copy(tensor.extents, tensor.extents + tensor.rank, numbers + 2);
  env->SetLongArrayRegion(type, 0, 2 + tensor.rank, numbers);
  return env->ExceptionCheck() ? nullptr : ToBuffer(env, tensor);
}

jobject Output(JNIEnv* env, jclass, jlong session, jint index, jlongArray type) {
  SkiffTensor tensor;
  const bool found = Succeeds(env, [&](char* message, size_t size) {
    return skiff_session_output(FromJava(session), index, &tensor, message, size);
  });
  return found ? ToJava(env, tensor, type) : nullptr;
}

jobject Variable(JNIEnv* env, jclass, jlong session, jint variable, jlongArray type) {
  SkiffTensor tensor;
  const bool found = Succeeds(env, [&](char* message, size_t size) {
    return skiff_session_variable(FromJava(session), variable, &tensor, message, size);
  });
  return found ? ToJava(env, tensor, type) : nullptr;
}

void ResetVariables(JNIEnv*, jclass, jlong session) { skiff_session_reset_variables(FromJava(session)); }

jint TargetOf(JNIEnv*, jclass, jlong session) { return skiff_session_target(FromJava(session)); }

jlongArray MemoryUsage(JNIEnv* env, jclass, jlong session) {
  SkiffMemoryUsage usage;
  skiff_session_memory_usage(FromJava(session), &usage, sizeof(usage));
  const jlong bytes[] = {static_cast<jlong>(usage.arena),
                         static_cast<jlong>(usage.workspace),
                         static_cast<jlong>(usage.packed_weights),
                         static_cast<jlong>(usage.mapped_weights),
                         static_cast<jlong>(usage.inputs),
                         static_cast<jlong>(usage.variables),
                         static_cast<jlong>(usage.mapped_packed_weights),
                         static_cast<jlong>(usage.widened_weights)};
  return ToLongs(env, bytes, 8);
}

}  // namespace

Natives SessionNatives() {
  static const JNINativeMethod kMethods[] = {
      Native("createThreadPool", "(I)J", &CreateThreadPool),
      Native("destroyThreadPool", "(J)V", &DestroyThreadPool),
      Native("createSession", "(JIIIJ[BJJZZJ)J", &CreateSession),
      Native("destroySession", "(J)V", &DestroySession),
      Native("setInput", "(JILjava/nio/ByteBuffer;II[J)V", &SetInput),
      Native("bindInput", "(JILjava/nio/ByteBuffer;II[J)V", &BindInput),
      Native("inputBuffer", "(JI[J)Ljava/nio/ByteBuffer;", &InputBuffer),
      Native("run", "(J)V", &Run),
      Native("cancel", "(J)V", &Cancel),
      Native("output", "(JI[J)Ljava/nio/ByteBuffer;", &Output),
      Native("variable", "(JI[J)Ljava/nio/ByteBuffer;", &Variable),
      Native("resetVariables", "(J)V", &ResetVariables),
      Native("target", "(J)I", &TargetOf),
      Native("memoryUsage", "(J)[J", &MemoryUsage),
  };
  return {kMethods, sizeof(kMethods) / sizeof(kMethods[0])};
}

}  // namespace skiff::jni

// What Kotlin's users write instead of the Java API's calls. One file without dependencies: add its folder to an application's
// sources, or copy it. Models, sessions and thread pools are AutoCloseable, which Kotlin's own `use` closes.
@file:JvmName("SkiffExtensions")

package io.skiff

import java.nio.ByteBuffer

/** A session of this model: `model.session { target(Target.VULKAN) }`. As [Session.create]. */
public inline fun Model.session(options: SessionOptions.() -> Unit = {}): Session =
    Session.create(this, SessionOptions().apply(options))

/** `session["image"] = floats`, where at most one extent of the input varies. As [Session.setInput]. */
public operator fun Session.set(name: String, values: FloatArray): Unit = setInput(name, values)

public operator fun Session.set(name: String, values: DoubleArray): Unit = setInput(name, values)

public operator fun Session.set(name: String, values: ByteArray): Unit = setInput(name, values)

public operator fun Session.set(name: String, values: ShortArray): Unit = setInput(name, values)

public operator fun Session.set(name: String, values: IntArray): Unit = setInput(name, values)

public operator fun Session.set(name: String, values: LongArray): Unit = setInput(name, values)

/** A direct buffer, for an input whose shape is fixed. As [Session.setInput]. */
public operator fun Session.set(name: String, values: ByteBuffer): Unit = setInput(name, values)

/** Another session's output, for example. As [Session.setInput]. */
public operator fun Session.set(name: String, tensor: Tensor): Unit = setInput(name, tensor)

/** `session["image"] = Pixels.argb(...)`. As [Session.setImage]. */
public operator fun Session.set(name: String, picture: Pixels): Unit = setImage(name, picture)

/** `session["logits"]`: a view of an output. As [Session.output]. */
public operator fun Session.get(name: String): Tensor = output(name)

/**
 * The whole call: `session.run("ids" to ids, "mask" to mask)`. All inputs are given, and the outputs have memory of their own. As
 * [Session.run] of a map.
 */
public fun Session.run(vararg inputs: Pair<String, Any>): Map<String, Tensor> = run(inputs.toMap())

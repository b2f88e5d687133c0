package io.skiff

import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import kotlin.concurrent.thread
import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test

/** The extensions, and the Java API as Kotlin sees it. */
class ExtensionsTest {
    private fun model(name: String): Model = Model.open(File(System.getProperty("skiff.test.models"), name).path)

    @Test
    fun useClosesModelsAndSessions() {
        val model = model("two_signatures.skiff")
        val session = model.use { it.session { signature("größe 😀") } }
        assertThrows(IllegalStateException::class.java) { Session.create(model) }
        val negative = session.use {
            it["a"] = floatArrayOf(1f, -2f, 3f, -4f)
            it.run()
            it["b"].toFloatArray()
        }
        assertArrayEquals(floatArrayOf(-1f, 2f, -3f, 4f), negative, 0f)
        assertThrows(IllegalStateException::class.java) { session.run() }
    }

    @Test
    fun inputsOfEveryKind() {
        model("types.skiff").use { model ->
            model.session().use { session ->
                for (input in model.signatures()[0].inputs()) session.inputBuffer(input.name(), 2)
                session["f32"] = floatArrayOf(1f, 2f)
                session["f64"] = doubleArrayOf(3.0, 4.0)
                session["u8"] = byteArrayOf(5, -1)
                session["i16"] = shortArrayOf(6, -7)
                session["i32"] = intArrayOf(8, -9)
                session["i64"] = longArrayOf(10, -11)
                session.run()
                assertArrayEquals(floatArrayOf(1f, 2f), session["of_f32"].toFloatArray(), 0f)
                assertArrayEquals(doubleArrayOf(3.0, 4.0), session["of_f64"].toDoubleArray(), 0.0)
                assertArrayEquals(intArrayOf(5, 255), session["of_u8"].toIntArray())
                assertArrayEquals(shortArrayOf(6, -7), session["of_i16"].toShortArray())
                assertArrayEquals(intArrayOf(8, -9), session["of_i32"].toIntArray())
                assertArrayEquals(longArrayOf(10, -11), session["of_i64"].toLongArray())
                session["f32"] = session["of_f32"]
                session.run()
                assertArrayEquals(floatArrayOf(1f, 2f), session["of_f32"].toFloatArray(), 0f)
            }
        }
    }

    @Test
    fun buffersAndPictures() {
        model("counter.skiff").use { model ->
            model.session().use { session ->
                session["step"] = ByteBuffer.allocateDirect(4).order(ByteOrder.nativeOrder()).putFloat(0, 2f)
                session.run()
                assertEquals(7f, session.variable("count").toFloatArray()[0])
            }
        }
        model("characters.skiff").use { model ->
            model.session().use { session ->
                val pixels = Pixels.argb(IntArray(64 * 48) { it * 4099 }, 64, 48)
                session["image"] = pixels
                session.run()
                val best = session.bestClasses("logits", 1, true).single()
                assertArrayEquals(session["logits"].toFloatArray(), session.run("image" to pixels).getValue("logits").toFloatArray(), 0f)
                assertTrue(best.label() in session.signature().output("logits").labels())
            }
        }
    }

    @Test
    fun wholeCalls() {
        val outputs = model("two_signatures.skiff").use { model ->
            model.session().use { it.run("x" to floatArrayOf(1f, 2f, 3f, 4f, 5f, 6f), "w" to intArrayOf(7)) }
        }
        assertEquals(listOf("y", "z"), outputs.keys.toList())
        assertEquals(12f, outputs.getValue("y").toFloatArray().last())
        assertEquals("z: i32[1] = [14]", outputs["z"].toString())
        model("twice.skiff").use { model ->
            model.session().use { session ->
                val y = session.run("x" to arrayOf(floatArrayOf(1f), floatArrayOf(2f)))["y"]
                assertArrayEquals(longArrayOf(2, 1), y?.shape())
                val refused = assertThrows(IllegalArgumentException::class.java) { session.run("z" to 1) }
                assertTrue(refused.message, "there is no value for [x: f32[rows, columns]]; and there are no inputs [z]" in refused.message!!)
            }
        }
    }

    /** Kotlin's own scope function is still that, and not a run of the session. */
    @Test
    fun aScopeIsAScope() {
        model("twice.skiff").use { model ->
            model.session().use { session ->
                val sum = session.run {
                    setInput("x", floatArrayOf(1f, 2f), 1, 2)
                    run()
                    get("y").toFloatArray().sum()
                }
                assertEquals(6f, sum)
            }
        }
    }

    /** What coroutines call when a scope is cancelled may come from any thread. */
    @Test
    fun cancellingFromAnotherThread() {
        model("characters.skiff").use { model ->
            model.session { backend(Backend.REFERENCE) }.use { session ->
                session.inputBuffer("image")
                var status: Status? = null
                val runner = thread {
                    try {
                        while (true) session.run()
                    } catch (e: SkiffException) {
                        status = e.status()
                    }
                }
                while (runner.isAlive) {
                    session.cancel()
                    Thread.sleep(1)
                }
                assertEquals(Status.CANCELLED, status)
            }
        }
    }
}

"""What check_types.py finds, and what it leaves alone: usage: check_types_test.py"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

from check_types import defined_types, duplicates


class DefinedTypes(unittest.TestCase):
    def expect(self, text, *names):
        self.assertEqual(defined_types(text), set(names), text)

    def test_names_are_qualified(self):
        self.expect("struct A {};", "A")
        self.expect("namespace a { namespace b { class C { public: struct D { enum class E : int { kF }; }; }; } }", "a::b::C",
                    "a::b::C::D", "a::b::C::D::E")
        self.expect("namespace a::b { union U { int i; }; } struct V {};", "a::b::U", "V")
        self.expect("inline namespace v1 { enum E { kA = 1 << 2, kB }; }", "v1::E")
        self.expect("namespace a { class B::C final : public D<E, F{}.x> {}; }", "a::B::C")
        self.expect('extern "C" { typedef struct Handle { int fd; } Handle; }', "Handle")

    def test_of_all_forms(self):
        self.expect("template <class T, int N = (1 < 2)> class A : B<T> { class C {}; };", "A", "A::C")
        self.expect("template <class T> requires (sizeof(T) > 1) struct A {};", "A")
        self.expect("class SKIFF_API [[nodiscard]] A {};", "A")
        self.expect("struct alignas(64) A { int x[2] = {1, 2}; } a = {};", "A")
        self.expect("class A {\n public:\n  class B {};\n private:\n  enum class C {};\n};", "A", "A::B", "A::C")

    def test_a_files_own_types_are_exempt(self):
        self.expect("namespace a { namespace { struct B { struct C {}; }; } struct D {}; }", "a::D")
        self.expect("namespace a { namespace [[maybe_unused]] { struct B {}; } }")
        self.expect("void F(const char* s = \"}\") { struct A {}; if (s) { class B {}; } } struct C {};", "C")
        self.expect("struct A { A() : b_{1} { struct L {}; } int b_; struct M {}; };", "A", "A::M")
        self.expect("auto f = [] { struct L {}; return 0; }; int x = {1};")

    def test_what_defines_nothing_is_exempt(self):
        self.expect("class A; struct B; enum class C : int; friend class D; template <class T> struct E;")
        self.expect("template <> struct A<int> { struct B {}; }; template <class T> class A<T*> : C {};")
        self.expect("template <> struct A<int>::B {};")
        self.expect("struct stat F(int x) { return {}; } struct stat info = {}; struct { int x; } unnamed;")
        self.expect("enum { kA, kB }; typedef enum { kC } D;")
        self.expect("template <class T> void F() { } template <typename T = struct X> int g() { return T{}; }")

    def test_text_is_no_code(self):
        self.expect('// struct A {};\n/* struct B {};\n struct B {}; */ const char* s = "struct C {}; \\" {"; struct D {};', "D")
        self.expect('const char* r = R"x(struct A { " )" )x"; char c = \'{\'; int n = 1\'000; struct B {};', "B")
        self.expect("// continued \\\nstruct A {};\nstruct B {};", "B")
        self.expect("#define MAKE(x) \\\n  struct x {\nstruct A {};", "A")

    def test_each_branch_of_the_preprocessor(self):
        self.expect("#if X\nstruct A {};\n#else\nstruct A {}; struct B {};\n#endif\nstruct C {};", "A", "B", "C")
        self.expect("#ifdef X\nstruct A : B {\n#elif Y\nstruct A : C {\n#else\nstruct A {\n#endif\n struct D {}; }; struct E {};",
                    "A", "A::D", "E")
        self.expect("#if 0\nstruct A { {\n#if X\n#else\nstruct B {};\n#endif\n#endif\nstruct C {};", "C")
        self.expect("#if 0\nstruct A {};\n#else\nstruct B {};\n#endif", "B")


class Duplicates(unittest.TestCase):
    def test_the_same_name_in_two_files(self):
        found = duplicates({"a.h": "namespace n { struct T { int a; }; }", "b.h": "namespace n { class T { long b; }; }",
                            "c.h": "namespace m { struct T {}; } namespace n { struct T; }"})
        self.assertEqual(found, {"n::T": ["a.h", "b.h"]})

    def test_one_file_may_have_a_branch_for_each_system(self):
        self.assertEqual(duplicates({"a.h": "#if X\nstruct T { int a; };\n#else\nstruct T { long a; };\n#endif", "b.h": ""}), {})

    def test_the_program_fails_where_the_tree_has_one(self):
        checker = pathlib.Path(__file__).with_name("check_types.py")
        with tempfile.TemporaryDirectory() as root:
            folder = pathlib.Path(root, "runtime")
            folder.mkdir()
            for i in range(100):
                (folder / f"t{i}.h").write_text(f"struct T{i} {{}};")
            run = lambda: subprocess.run([sys.executable, checker, root], capture_output=True, text=True)
            clean = run()
            self.assertEqual((clean.returncode, clean.stderr), (0, ""))
            (folder / "planted.cpp").write_text("struct T7 { int other; };")
            planted = run()
            self.assertEqual(planted.returncode, 1)
            self.assertIn("T7 is defined in runtime/planted.cpp and in runtime/t7.h", planted.stdout)


if __name__ == "__main__":
    unittest.main()

"""A store made by tools/new_store, in a copy of the tree, compiles, is listed by the program and
fails the contract by its name; and nothing was touched but what CONTRIBUTING.md says. What the copy
has in common with this build is not compiled again."""

import filecmp
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "sample"


def given(variable):
    return os.environ[variable].split(",")


def ran(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def done(*command):
    result = ran(*command)
    if result.returncode != 0:
        raise AssertionError(f"{command}\n{result.stdout}{result.stderr}")
    return result.stdout


def changes(comparison, folder=""):
    """What is new or different in the copy: a new folder as a whole."""
    found = {folder + name for name in comparison.right_only + comparison.diff_files}
    for name, below in comparison.subdirs.items():
        found |= changes(below, f"{folder}{name}/")
    return found


class NewStore(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.tree = cls.folder / "tree"
        shutil.copytree(ROOT, cls.tree, symlinks=True,
                        ignore=shutil.ignore_patterns("build*", ".git", ".cache", "__pycache__"))
        done(cls.tree / "tools/new_store", NAME)
        cls.objects = cls.compile_store()

    @classmethod
    def compile_store(cls):
        build = cls.folder / "build"
        done("cmake", "-S", cls.tree, "-B", build, "-G", "Ninja",
             f"-DHOLDFAST_STORES=memory;{NAME}", "-DBUILD_SHARED_LIBS=OFF", "-DHOLDFAST_TESTS=OFF",
             "-DHOLDFAST_PROGRAM=OFF", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=",
             f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}")
        done("cmake", "--build", build, "--target", f"holdfast_store_{NAME}", "holdfast_table_whole")
        return sorted(build.glob("src/CMakeFiles/*/stores/**/*.o"))

    def linked(self, program, sources, *others):
        path = self.folder / program
        definitions = ("-DHOLDFAST_STORE_MEMORY", f"-DHOLDFAST_STORE_{NAME.upper()}")
        done(os.environ["CXX"], "-std=c++20", "-O0", *definitions, "-o", path,
             *(f"-I{self.tree / folder}" for folder in ("include", "src", "tests")),
             *(self.tree / source for source in sources), *self.objects, *others,
             *given("HOLDFAST_LIBRARIES"), "-pthread")
        return path

    def test_nothing_else_is_touched(self):
        ignored = ["build", ".git", ".cache", "__pycache__"] + [p.name for p in ROOT.glob("build*")]
        self.assertEqual(changes(filecmp.dircmp(ROOT, self.tree, ignore=ignored)), {
            f"src/stores/{NAME}", f"docs/stores/{NAME}.md",
            "src/stores/open_store.cpp", "tests/contract/stores.cpp"})

    def test_it_is_in_the_house_style(self):
        done(self.tree / "tools/check_layers")
        done("clang-format", "--dry-run", "-Werror", *self.tree.glob(f"src/stores/{NAME}/*.?pp"),
             self.tree / "src/stores/open_store.cpp", self.tree / "tests/contract/stores.cpp")

    def test_the_program_knows_it(self):
        program = self.linked("holdfast", ["src/cli/servers.cpp"], *given("HOLDFAST_CLI_OBJECTS"))
        unknown = ran(program, "list", "-S", "nowhere:")
        self.assertIn(f"this build knows: memory, {NAME}", unknown.stderr)
        listed = ran(program, "list", "-S", f"{NAME}://127.0.0.1")
        self.assertIn(f"{NAME}://127.0.0.1: inspect is not written yet", listed.stderr)

    def test_it_fails_the_contract_by_name(self):
        program = self.linked("contract", [f"tests/contract/{name}.cpp" for name in
                                           ("main", "stores", "several_test")])
        done(program, "--gtest_filter=*.AllAreHeldOrNone/memory")
        failed = ran(program, f"--gtest_filter=*.AllAreHeldOrNone/{NAME}")
        self.assertEqual(failed.returncode, 1, failed.stdout + failed.stderr)
        self.assertRegex(failed.stdout, rf"\[  FAILED  \] EveryStore/.*/{NAME}")


if __name__ == "__main__":
    unittest.main()

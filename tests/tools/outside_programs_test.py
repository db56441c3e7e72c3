# SPDX-License-Identifier: Apache-2.0
"""tools/samples and tools/nccl-tests on small made-up trees of the same layout, with stand-ins for
nvcc (which copies the source) and cuco (which does what the source says)."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
NVCC = """#!/bin/sh
echo "$@" >> "$LOG"
for word; do last=$word; case $word in *.cu) test -n "$first" || first=$word;; esac; done
grep -q 'no good' "$first" && { echo "$first(1): error: no good"; exit 1; }
cp "$first" "$last"
"""
CUCO = """#!/bin/sh
echo "$@" >> "$LOG"
[ "$1 $2" = "run --ranks" ] || exit 99
. "$4"
"""


class OutsidePrograms(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.write("bin/nvcc", NVCC, 0o755)
        self.write("bin/cuco", CUCO, 0o755)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, name: str, text: str, mode: int = 0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def run_tool(self, tool: str, *options: str):
        environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "LOG": str(self.folder / "log"),
                       "PYTHONDONTWRITEBYTECODE": "1"}
        run = subprocess.run([sys.executable, TOOLS / tool, self.folder / "checkout", "--cuco", self.folder / "bin/cuco",
                              "--build", self.folder / "built", *options], env=environment, capture_output=True, text=True,
                             check=False)
        log = self.folder / "log"
        return run.returncode, run.stdout + run.stderr, log.read_text() if log.exists() else ""

    def sample(self, chapter: str, name: str, text: str):
        self.write(f"checkout/Samples/{chapter}/{name}/{name}.cu", text)

    def test_samples_are_sorted_by_what_happened(self):
        self.sample("0_Introduction", "vectorAdd", "echo Test PASSED\n")
        self.sample("0_Introduction", "simpleP2P", "test $3 = 2 || exit 1\n")
        self.sample("0_Introduction", "broken", "no good\n")
        self.sample("2_Concepts", "texture", "echo 'cuco: cudaCreateTextureObject is not supported'; exit 1\n")
        self.sample("2_Concepts", "waived", "echo no device can; exit 2\n")
        self.sample("2_Concepts", "endless", "exec sleep 60\n")
        (self.folder / "checkout/Samples/2_Concepts/empty").mkdir()
        status, text, log = self.run_tool("samples", "--seconds", "2", "--ranks", "2")
        self.assertEqual(status, 0, text)
        self.assertIn("| passes | 2 | simpleP2P, vectorAdd |\n", text)
        self.assertIn("| unfinished | 1 | endless (stopped after 2 s) |\n", text)
        self.assertIn("| refused, by name | 1 | texture (cudaCreateTextureObject) |\n", text)
        self.assertIn("| waives itself | 1 | waived (no device can) |\n", text)
        self.assertIn("| not built | 1 | broken (", text)
        self.assertIn("-cudart shared -gencode arch=compute_90,code=compute_90", log)
        self.assertIn(f"run --ranks 1 {self.folder}/built/vectorAdd\n", log)

    def test_a_wrong_result_is_a_failure(self):
        self.sample("0_Introduction", "wrong", "echo Result = FAILED\n")
        status, text, _ = self.run_tool("samples")
        self.assertEqual(status, 1)
        self.assertIn("| fails | 1 | wrong (status 0: Result = FAILED) |", text)

    def test_only_some(self):
        self.sample("0_Introduction", "one", "exit 0\n")
        self.sample("0_Introduction", "two", "exit 0\n")
        self.assertIn("| passes | 1 | two |", self.run_tool("samples", "--only", "^two$")[1])

    def test_an_empty_checkout_is_named(self):
        status, text, _ = self.run_tool("samples")
        self.assertEqual(status, 1)
        self.assertIn("no programs of cuda-samples in", text)

    def test_nccl_tests(self):
        for name in ("common.cu", "util.cu", "timer.cc"):
            self.write(f"checkout/src/{name}", "")
        self.write("checkout/verifiable/verifiable.cu", "")
        self.write("checkout/src/all_reduce.cu", "echo '# Out of bounds values : 0 OK'\n")
        self.write("checkout/src/sendrecv.cu", "echo '# Out of bounds values : 3 FAILED'; exit 1\n")
        status, text, log = self.run_tool("nccl-tests", "--ranks", "2")
        self.assertEqual(status, 1, text)
        self.assertIn("| passes | 1 | all_reduce_perf |\n", text)
        self.assertIn("| fails | 1 | sendrecv_perf (status 1: # Out of bounds values : 3 FAILED) |\n", text)
        self.assertNotIn("common_perf", text)
        self.assertIn("verifiable/verifiable.cu -lnccl -o", log)
        self.assertIn(f"run --ranks 2 {self.folder}/built/all_reduce_perf -- -b 8 -e 1M -f 8 -n 2 -w 1 -c 1 -g 2\n", log)

    def test_the_table_replaces_the_last_one_in_the_page(self):
        sys.path.insert(0, str(TOOLS))
        sys.dont_write_bytecode = True
        import outside_programs  # pylint: disable=import-outside-toplevel
        page = self.folder / "page.md"
        page.write_text("# Page\n\nBefore.\n")
        for number in ("one", "two"):
            outside_programs.update(page, "tools/x", "x 1.0", f"| {number} |\n")
        text = page.read_text()
        self.assertTrue(text.startswith("# Page\n\nBefore.\n\n<!-- made by tools/x -->\nMade by `tools/x` on 20"), text)
        self.assertIn("| two |\n<!-- end of tools/x -->\n", text)
        self.assertNotIn("| one |", text)


if __name__ == "__main__":
    unittest.main()

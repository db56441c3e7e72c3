# SPDX-License-Identifier: Apache-2.0
"""tools/cudart_exports.py says "tested" of what was called, and of nothing else."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/cudart_exports.py"
SOURCE = """int cudaOne(void) { return 1; }
int cudaOne_ptsz(void) __attribute__((alias("cudaOne")));
int cudaTwo(void) { return 2; }
int cudaThree(void) { return 3; }
"""


class Tested(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "code.c").write_text(SOURCE)
        (self.folder / "exports.tsv").write_text("cudaOne\tworks\ncudaOne_ptsz\tworks\ncudaTwo\tpartly\thalf\n"
                                                 "cudaThree\tunsupported\n")
        self.library = self.folder / "lib.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", self.library, self.folder / "code.c"], check=True)

    def tearDown(self):
        self.temporary.cleanup()

    def tool(self, command: str, *words: str):
        run = subprocess.run([sys.executable, TOOL, command, self.folder / "exports.tsv", *words], capture_output=True,
                             text=True, check=False)
        return run.returncode, run.stdout + run.stderr

    def compared(self, called: str, *words: str):
        (self.folder / "calls").write_text(called)
        return self.tool("tested", self.library, self.folder / "calls", *words)

    def test_what_was_called_is_tested_under_all_its_names(self):
        self.assertEqual(self.compared("cudaOne\ncudaThree\n", "--update"), (0, ""))
        self.assertEqual((self.folder / "tested.txt").read_text().splitlines()[1:], ["cudaOne", "cudaOne_ptsz"])
        self.tool("docs", self.folder / "page.md")
        page = (self.folder / "page.md").read_text()
        for row in ("| `cudaOne` | tested |", "| `cudaOne_ptsz` | tested |", "| `cudaTwo` | untested, partly | half |",
                    "| `cudaThree` | unsupported |", "2 are tested, 1 are written but untested, 1 are not supported"):
            self.assertIn(row, page)

    def test_a_claim_that_no_call_backs_fails(self):
        self.compared("cudaOne\ncudaTwo\n", "--update")
        status, text = self.compared("cudaOne\n")
        self.assertEqual(status, 1)
        self.assertIn("says tested, but no test called cudaTwo", text)

    def test_a_new_call_is_only_mentioned(self):
        self.compared("cudaOne\n", "--update")
        status, text = self.compared("cudaOne\ncudaTwo\n")
        self.assertEqual(status, 0)
        self.assertIn("cudaTwo is tested now", text)


if __name__ == "__main__":
    unittest.main()

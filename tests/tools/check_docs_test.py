# SPDX-License-Identifier: Apache-2.0
"""tools/check_docs finds each kind of mistake in a made-up document, and none in a good one."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/check_docs"
TABLE = "| a | b |\n| --- | --- |\n"


def checked(text: str) -> tuple[int, list[str]]:
    """Status and complaints of the tool on a tree with this document alone."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        pathlib.Path(folder, "page.md").write_text(text)
        run = subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout.splitlines()[:-1]


class CheckDocs(unittest.TestCase):
    def assert_fails(self, text: str, message: str) -> None:
        self.assertEqual(checked(text), (1, [message]))

    def test_a_good_page_passes(self):
        self.assertEqual(checked("# Page\n\n" + TABLE + "| `x\\|y` | 2 |\n| 3 | |\n\nProse | with a bar.\n\n"
                                 "    | code |\n    | --- |\n    | 1 | 2 |\n\n```\n| a |\n| --- |\nb\n```\n"), (0, []))

    def test_a_row_that_was_wrapped(self):
        self.assertEqual(checked(TABLE + "| 1 | two and\nthree |\n| 4 | 5 |\n"),
                         (1, ["page.md:3: a row of 1 cells in a table of 2",
                              "page.md:4: a row of 1 cells in a table of 2"]))

    def test_two_rows_in_one_line(self):
        self.assert_fails(TABLE + "| 1 | 2 | | 3 | 4 |\n", "page.md:3: a row of 5 cells in a table of 2")

    def test_a_bar_in_code(self):
        self.assert_fails(TABLE + "| `x|y` | 2 |\n", "page.md:3: a row of 3 cells in a table of 2")

    def test_a_header_that_does_not_fit(self):
        self.assert_fails("| a |\n| --- | --- |\n| 1 | 2 |\n", "page.md:1: a header of other than 2 cells")

    def test_a_table_that_runs_into_prose(self):
        self.assert_fails(TABLE + "| 1 | 2 |\nand so on\n", "page.md:4: a row of 1 cells in a table of 2")

    def test_a_link_to_nothing(self):
        self.assert_fails("[there](nowhere.md)\n", "page.md: broken link: nowhere.md does not exist")

    def test_a_wide_line(self):
        self.assert_fails("word " * 21 + "\n", "page.md:1: wider than 100 columns")


if __name__ == "__main__":
    unittest.main()

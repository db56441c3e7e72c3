# SPDX-License-Identifier: Apache-2.0
"""tools/check_layers.py finds each kind of disorder in a made-up tree, and none in a clean one."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/check_layers.py"
CLEAN = {
    "tools/layers.txt": "os:\nbase:\nsystem: os base\nrank: os base\njudge: base system\njudge/inner: base judge\n",
    "src/base/text.h": "#pragma once\n#include <string>\n",
    "src/system/files.cc": '#include <fcntl.h>\n#include "base/text.h"\nint f() { return ::open("a", 0); }\n',
    "src/rank/rank.cc": "#include <dlfcn.h>\n",
    "src/judge/judge.h": '#include "system/files.h"\n// ::open( in a comment is no call\n',
    "src/judge/screen.cc": 'auto read = store::open(file); auto x = file.open("a"); // ::read(\n',
    "src/judge/oracle_main.cc": '#include <unistd.h>\nint main() { ::close(3); }\n',
    "src/judge/inner/part.cc": '#include "judge/judge.h"\n#include <elf.h>\n',
}


def checked(changes: dict[str, str]) -> tuple[int, str]:
    """Status and output of the tool on the clean tree with these files added or changed."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**CLEAN, **changes}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        run = subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr


class CheckLayers(unittest.TestCase):
    def assert_fails(self, changes: dict[str, str], message: str) -> None:
        status, output = checked(changes)
        self.assertEqual(status, 1, output)
        self.assertIn(message, output)
        self.assertEqual(len(output.splitlines()), 1, output)

    def test_a_clean_tree_passes(self):
        self.assertEqual(checked({}), (0, ""))

    def test_an_upward_include(self):
        self.assert_fails({"src/base/up.cc": '#include "judge/judge.h"\n'},
                          "src/base/up.cc:1: base may not include judge")

    def test_an_include_between_a_module_and_one_inside_it(self):
        self.assert_fails({"src/judge/down.cc": '\n#include "judge/inner/part.h"\n'},
                          "src/judge/down.cc:2: judge may not include judge/inner")

    def test_a_folder_that_is_not_listed(self):
        self.assert_fails({"src/elsewhere/a.cc": ""}, "src/elsewhere/a.cc: its folder is not in tools/layers.txt")

    def test_a_module_that_names_one_below_it(self):
        status, output = checked({"tools/layers.txt": "base: judge\njudge:\n"})
        self.assertEqual(status, 1)
        self.assertIn("base names ['judge'] before they are declared", output)

    def test_a_folder_with_forty_files(self):
        self.assert_fails({f"src/base/part_{i}.cc": "" for i in range(39)}, "src/base: 40 source files; split it")

    def test_a_folder_with_twenty_five_files(self):
        self.assertEqual(checked({f"src/base/part_{i}.cc": "" for i in range(24)})[0], 0)

    def test_a_header_name_that_exists_twice(self):
        self.assert_fails({"src/system/judge.h": ""}, "src/judge/judge.h: src/system/judge.h has the same name")

    def test_operating_system_calls_outside_system(self):
        for text in ('int f() { return ::open("a", 0); }', "if (::read(fd, at, 1) < 0) return;",
                     "  ::poll (fds, 1, 0);", "std::ifstream in(file);", "std::ofstream out(file);",
                     'FILE* f = fopen("a", "r");', 'auto* f = std::fopen("a", "r");'):
            with self.subTest(text):
                self.assert_fails({"src/judge/call.cc": text + "\n"},
                                  "src/judge/call.cc:1: judge may not use the operating system")

    def test_operating_system_headers_outside_system(self):
        for header in ("fcntl.h", "unistd.h", "sys/mman.h", "poll.h", "signal.h", "csignal", "dlfcn.h", "sched.h",
                       "dirent.h", "spawn.h", "pthread.h", "linux/seccomp.h", "termios.h", "netinet/in.h", "fstream"):
            with self.subTest(header):
                self.assert_fails({"src/base/os.h": f"#include <{header}>\n"},
                                  f"src/base/os.h:1: base may not use the operating system")


if __name__ == "__main__":
    unittest.main()

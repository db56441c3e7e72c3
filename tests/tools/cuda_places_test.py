#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whoever looks for CUDA during a build looks where cuco itself does: $CUDA_HOME, then $CUDA_PATH."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEARCH = re.compile(r"find_(?:program|path)\((\w+) (?:nvcc|nccl\.h)\s[^)]*\)")


def searches():
    for file in sorted(ROOT.glob("src/**/CMakeLists.txt")):
        for match in SEARCH.finditer(file.read_text()):
            yield file.relative_to(ROOT), match[1], match[0]


class CudaPlaces(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def toolkit(self, name):
        root = pathlib.Path(self.folder.name, name)
        for file, mode in (("bin/nvcc", 0o755), ("include/nccl.h", 0o644)):
            path = root / file
            path.parent.mkdir(parents=True)
            path.write_text("#!/bin/sh\n")
            path.chmod(mode)
        return str(root)

    def found(self, command, variable, **places):
        script = pathlib.Path(self.folder.name, "find.cmake")
        script.write_text(f"{command}\nmessage(STATUS \"${{{variable}}}\")\n")
        environment = {key: value for key, value in os.environ.items() if not key.startswith("CUDA_")}
        done = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, env=environment | places)
        return done.stdout.strip().removeprefix("-- ")

    def test_every_search_honours_both_variables(self):
        if not shutil.which("cmake"):
            self.skipTest("no cmake")
        home, path = self.toolkit("home"), self.toolkit("path")
        places = list(searches())
        self.assertGreaterEqual(len(places), 3)
        for file, variable, command in places:
            with self.subTest(file=str(file)):
                self.assertTrue(self.found(command, variable, CUDA_PATH=path).startswith(path), file)
                self.assertTrue(self.found(command, variable, CUDA_HOME=home, CUDA_PATH=path).startswith(home), file)

    def test_the_package_check_does_too(self):
        text = (ROOT / "tools/package_check").read_text()
        line = next(line for line in text.splitlines() if line.startswith("cuda="))
        for places, expected in (({"CUDA_PATH": "/b"}, "/b"), ({"CUDA_HOME": "/a", "CUDA_PATH": "/b"}, "/a")):
            done = subprocess.run(["bash", "-c", line.replace("realpath", "echo") + '; echo "$cuda"'],
                                  capture_output=True, text=True, env={"PATH": os.environ["PATH"]} | places)
            self.assertEqual(done.stdout.strip(), expected)


if __name__ == "__main__":
    unittest.main()

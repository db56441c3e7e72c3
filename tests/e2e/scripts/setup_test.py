#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ./cuco and ./test say on machines that lack something: tools/setup.sh with stand-ins for the
system's own programs, so that the machine it runs on needs to lack nothing."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))
PACKAGES = "# comment\n[run]\nninja-build\nlibfmt-dev\n\n[test]\nlibgtest-dev\n"
HAS_NINJA = "printf 'ii |ninja-build\\n'; exit 1\n"
HAS_ALL = "printf 'ii |ninja-build\\nii |libfmt-dev\\n'\n"


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.bin = self.root / "bin"
        self.bin.mkdir()
        (self.root / "packages.txt").write_text(PACKAGES)
        for name in ("bash", "env", "mkdir", "touch", "sort", "comm", "sed", "grep", "head", "tail", "flock", "mv"):
            (self.bin / name).symlink_to(f"/bin/{name}" if os.path.exists(f"/bin/{name}") else f"/usr/bin/{name}")

    def tearDown(self):
        self.folder.cleanup()

    def stand_in(self, name: str, script: str):
        path = self.bin / name
        path.write_text(f"#!/bin/bash\necho {name} \"$@\" >> {self.root}/calls\n{script}")
        path.chmod(0o755)

    def run_setup(self, what: str, **environment):
        run = subprocess.run(["/bin/bash", "-c", f"set -o pipefail; root={self.root}; source {SOURCE}/tools/setup.sh; {what}"],
                             env={"PATH": str(self.bin), **environment}, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True)
        calls = self.root / "calls"
        return run.returncode, run.stdout + run.stderr, calls.read_text() if calls.exists() else ""

    def test_without_root_names_the_packages_and_the_command(self):
        self.stand_in("id", "echo 1000\n")
        self.stand_in("dpkg-query", HAS_NINJA)
        code, text, calls = self.run_setup("install_packages run; echo went on")
        self.assertEqual(code, 3)
        self.assertIn("missing and could not be installed", text)
        self.assertIn("not root", text)
        self.assertIn("sudo apt-get install libfmt-dev\n", text)
        self.assertNotIn("ninja-build", text)
        self.assertNotIn("went on", text)
        self.assertNotIn("apt-get", calls)

    def test_offline_root_sees_what_apt_said(self):
        self.stand_in("id", "echo 0\n")
        self.stand_in("dpkg-query", HAS_NINJA)
        self.stand_in("apt-get", "echo 'E: Could not resolve the mirror' >&2; exit 100\n")
        code, text, calls = self.run_setup("install_packages run")
        self.assertEqual(code, 3)
        self.assertIn("apt: E: Could not resolve the mirror", text)
        self.assertIn("apt-get update", calls)
        self.assertFalse((self.root / "build/.packages-run").exists())

    def test_installs_what_is_missing_and_asks_only_once(self):
        self.stand_in("id", "echo 0\n")
        self.stand_in("dpkg-query", HAS_NINJA)
        self.stand_in("apt-get", "exit 0\n")
        code, text, calls = self.run_setup("install_packages run && install_packages run")
        self.assertEqual(code, 0, text)
        self.assertIn("1 packages missing: libfmt-dev", text)
        self.assertEqual(calls.count("dpkg-query"), 1)
        self.assertIn("install -y --no-install-recommends libfmt-dev", calls)

    def test_a_program_from_elsewhere_stands_for_its_package(self):
        (self.root / "packages.txt").write_text("[run]\nnpm unless npm\nnodejs unless node\n")
        self.stand_in("npm", "")
        self.assertEqual(self.run_setup("packages_of run")[1], "nodejs\n")

    def test_nothing_missing_says_nothing(self):
        self.stand_in("dpkg-query", HAS_ALL)
        self.assertEqual(self.run_setup("install_packages run")[:2], (0, ""))

    def test_other_systems_are_told_where_the_list_is(self):
        code, text, _ = self.run_setup("install_packages run")
        self.assertEqual(code, 0)
        self.assertIn("packages.txt lists what has to be installed", text)

    def test_without_nvcc_names_the_versions_and_goes_on(self):
        # The toolkit's usual place may exist on this machine: look nowhere but in PATH.
        code, text, _ = self.run_setup("find_nvcc() { command -v nvcc; }; warn_without_nvcc; echo went on")
        self.assertEqual(code, 0)
        self.assertIn("CUDA toolkit 13.0", text)
        self.assertIn("NCCL 2.28.9", text)
        self.assertIn("went on", text)

    def test_nvcc_is_found_by_cuda_home(self):
        home = self.root / "cuda"
        (home / "bin").mkdir(parents=True)
        (home / "bin/nvcc").write_text("#!/bin/sh\n")
        (home / "bin/nvcc").chmod(0o755)
        _, text, _ = self.run_setup("find_nvcc; warn_without_nvcc", CUDA_HOME=str(home))
        self.assertEqual(text.strip(), str(home / "bin/nvcc"))

    def test_a_build_that_fails_shows_the_error_and_where_the_rest_is(self):
        (self.root / "build/release").mkdir(parents=True)
        (self.root / "build/release/build.ninja").write_text("")
        self.stand_in("ninja", "echo '[1/2] Building a.o'; echo 'FAILED: a.o'; echo 'a.cc:3: error: no'; exit 1\n")
        code, text, _ = self.run_setup("build release all; echo went on")
        self.assertEqual(code, 3)
        self.assertIn("a.cc:3: error: no", text)
        self.assertIn("build/release.log", text)
        self.assertNotIn("went on", text)
        self.assertFalse((self.root / "build/release/.built").exists())


unittest.main()

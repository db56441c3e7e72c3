# SPDX-License-Identifier: Apache-2.0
"""What plain `cuco init` makes is optimised to its end. usage: template.py CUCO [CANDIDATES]

The closing lines name a winner or say that nothing was faster; nothing is refused, no step fails.
"""
import pathlib, re, subprocess, sys, tempfile

cuco = sys.argv[1]
candidates = sys.argv[2] if len(sys.argv) > 2 else "4"


def call(folder, *words):
    done = subprocess.run([cuco, *words], capture_output=True, text=True, cwd=folder)
    print(done.stdout + done.stderr, flush=True)
    assert done.returncode == 0, f"{words}: exit {done.returncode}"
    return done.stdout + done.stderr


with tempfile.TemporaryDirectory() as folder:
    call(folder, "init", "mine")
    said = call(folder, "optimize", "mine", "--seed", "1", "--candidates", candidates)
    assert "analyse ✓" in said and "ncclAllGather" in said, "the collective was not found"
    assert "✗" not in said, "a step failed"
    faster = re.search(r"^done .*: (\d+\.\d+)x", said, re.MULTILINE)
    assert faster and float(faster[1]) > 1, "nothing faster was found"
    assert "correct on" in said and "predicted" in said
    call(folder, "best", "last", "-o", "faster")
    again = call(folder, "judge", "--own", "--fidelity", "check", "mine", "faster/program.cu")
    assert "correct" in again, "the winner that was written is not correct"
    # Whoever wants more goes on from there.
    assert pathlib.Path(folder, "faster/Makefile").exists()

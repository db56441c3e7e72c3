# SPDX-License-Identifier: Apache-2.0
"""Programs of tests/programs, transformed and verified. usage: run.py CUCO PROGRAMS --tenth|--all

Every program becomes one without NCCL's kernels that does the same, or there is one clear sentence.
"""
import json, os, pathlib, subprocess, sys, tempfile

CUCO, PROGRAMS, which = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
REFUSED = {"custom_reduction": "ncclRedOpCreatePreMulSum", "no_communication": "no NCCL function"}


def transform(program, folder, *options):
    words = [CUCO, "--json", "transform", program, "-o", folder, *options]
    return subprocess.run(list(map(str, words)), capture_output=True, text=True)


def check(program, fidelity, root):
    folder = root / program.stem
    done = transform(program, folder, "--fidelity", fidelity)
    if program.stem in REFUSED:
        assert done.returncode == 2 and REFUSED[program.stem] in done.stderr, (program, done)
        assert not folder.exists(), f"{program}: something was written"
        return "refused"
    assert done.returncode == 0, (program, done.stdout, done.stderr)
    answer = json.loads(done.stdout)
    assert answer["verdict"] == "same" and answer["predicted"], answer
    names = {"changes.diff", "cuco_collectives.cuh", "cuco_device.cuh", program.name}
    assert {path.name for path in folder.iterdir()} == names
    # What was written runs on its own, and no kernel of NCCL's runs in it.
    trace = root / f"{program.stem}.json"
    again = subprocess.run([CUCO, "run", "--ranks", "4", "--check", "--timeline", trace,
                            folder / program.name],
                           capture_output=True, text=True)
    assert again.returncode == 0 and "FAIL" not in again.stdout, (again.stdout, again.stderr)
    events = json.loads(trace.read_text())["traceEvents"]
    assert not any(event.get("cat") == "collective" for event in events), program
    assert any(event.get("cat") == "kernel" for event in events)
    return f"{answer['seed_seconds'] / answer['seconds']:.2f}x"


with tempfile.TemporaryDirectory() as root:
    root = pathlib.Path(root)
    programs = sorted(PROGRAMS.glob("*.cu"))
    if which == "--tenth":
        tenth = programs[int(os.environ.get("CUCO_TENTH", "0")) % 10::10][:2]
        programs = sorted({*tenth, PROGRAMS / "custom_reduction.cu"})
        missing = transform(PROGRAMS / "nothing.cu", root / "nothing")
        assert missing.returncode == 2 and "no file" in missing.stderr, missing
        (root / "taken").mkdir()
        (root / "taken" / "file").write_text("mine")
        taken = transform(programs[0], root / "taken")
        assert taken.returncode == 2 and "already exists" in taken.stderr, taken
        assert (root / "taken" / "file").read_text() == "mine"
    for program in programs:
        print(f"{program.stem}: {check(program, 'quick' if which == '--tenth' else 'final', root)}", flush=True)
print(f"transform: {len(programs)} programs ok")

# SPDX-License-Identifier: Apache-2.0
"""Programs and workloads, transformed and verified. usage: run.py CUCO SOURCES --tenth|--all

Each becomes one without NCCL's kernels that does the same, or there is one clear sentence.
"""
import json, os, pathlib, re, shutil, subprocess, sys, tempfile

CUCO, SOURCES, which = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS, WORKLOADS = SOURCES / "tests/programs", SOURCES / "workloads"
REFUSED = {"custom_reduction": "ncclRedOpCreatePreMulSum", "no_communication": "no NCCL function",
           "pasted_names": "with ##"}


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
    if which == "--all":
        watched = subprocess.run([CUCO, "run", "--ranks", "4", "--check", "--schedules", "20",
                                  folder / program.name], capture_output=True, text=True)
        assert watched.returncode == 0 and "FAIL" not in watched.stdout, (watched.stdout, watched.stderr)
    return f"{answer['seed_seconds'] / answer['seconds']:.2f}x"


def without_regions(text):
    return re.sub(r"(// cuco: evolve begin \w+\n).*?(// cuco: evolve end\n)", r"\1\2", text, flags=re.S)


def check_workload(name, fidelity, root):
    folder = root / name
    done = transform(WORKLOADS / name, folder, "--fidelity", fidelity)
    assert done.returncode == 0, (name, done.stdout, done.stderr)
    answer = json.loads(done.stdout)
    assert answer["verdict"] == "scored" and answer["predicted"], answer
    assert {path.name for path in folder.iterdir()} == {"changes.diff", "program.cu"}
    made = (folder / "program.cu").read_text()
    assert not re.search(r"nccl(AllGather|Send|Recv)\(", made), f"{name}: the host still communicates"
    seed = (WORKLOADS / name / "program.cu").read_text()
    assert without_regions(made) == without_regions(seed), f"{name}: frozen text was changed"
    return f"{answer['seed_seconds'] / answer['seconds']:.2f}x"


def check_overlap(program, root):
    """Lanes beside own collectives: the same under five schedules, watched by the checker."""
    folder = root / f"{program.stem}-overlap"
    done = transform(program, folder, "--overlap", "--fidelity", "quick")
    if done.returncode == 2:
        assert "is left as it is: " in done.stderr and not folder.exists(), done
        return done.stderr.split("is left as it is: ")[1].strip()
    assert done.returncode == 0 and json.loads(done.stdout)["verdict"] == "same", done
    assert "cuco::lane(" in (folder / program.name).read_text()
    again = subprocess.run([CUCO, "run", "--ranks", "4", "--check", "--schedules", "5", folder / program.name],
                           capture_output=True, text=True)
    assert again.returncode == 0 and "FAIL" not in again.stdout, (again.stdout, again.stderr)
    return "overlapped"


def check_several(root, fidelity):
    """Sources in any order: those that call NCCL become one with main(), the others stay."""
    folder, sources = root / "several", HERE / "several"
    files = [sources / name for name in ("kernels.cu", "comm.cu", "main.cpp")]
    done = subprocess.run([CUCO, "--json", "transform", *files, "-o", folder, "--fidelity", fidelity],
                          capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["verdict"] == "same", done
    names = {"changes.diff", "cuco_collectives.cuh", "cuco_device.cuh", "main.cu", "kernels.cu"}
    assert {path.name for path in folder.iterdir()} == names
    again = subprocess.run([CUCO, "run", "--ranks", "4", folder / "main.cu", folder / "kernels.cu"],
                           capture_output=True, text=True)
    assert again.returncode == 0 and "PASS" in again.stdout, (again.stdout, again.stderr)
    for words, sites in [(["analyze", "--no-trace", *files], 2), (["space", *files], None)]:
        read = subprocess.run([CUCO, "--json", *words], capture_output=True, text=True)
        assert read.returncode == 0, read
        assert sites is None or len(json.loads(read.stdout)["sites"]) == sites, read.stdout
    done = transform(files[0], root / "no")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done
    assert not (root / "no").exists()


def refuse_workloads(root):
    """What cannot be: nothing to replace, calls in frozen text, options that a workload has."""
    frozen = root / "frozen_calls"
    shutil.copytree(WORKLOADS / "kv_transfer", frozen)
    text = (frozen / "program.cu").read_text()
    host = text.index("// cuco: evolve begin host\n")
    (frozen / "program.cu").write_text(text[:host] + re.sub("// cuco: evolve .*\n", "", text[host:]))
    for words, why in [((WORKLOADS / "silu_and_mul", root / "no"), "no NCCL function that communicates"),
                       ((frozen, root / "no"), "is outside the evolve regions"),
                       ((WORKLOADS / "kv_transfer", root / "no", "--ranks", "2"), "--ranks")]:
        done = transform(*words)
        assert done.returncode == 2 and why in done.stderr, done
        assert len(done.stderr.splitlines()) == 1 and not (root / "no").exists(), done


with tempfile.TemporaryDirectory() as root:
    root = pathlib.Path(root)
    programs = sorted(PROGRAMS.glob("*.cu"))
    if which == "--tenth":
        tenth = programs[int(os.environ.get("CUCO_TENTH", "0")) % 10::10][:2]
        programs = sorted({*tenth, PROGRAMS / "custom_reduction.cu"})
        missing = transform(PROGRAMS / "nothing.cu", root / "nothing")
        assert missing.returncode == 2 and "no such file" in missing.stderr, missing
        (root / "taken").mkdir()
        (root / "taken" / "file").write_text("mine")
        taken = transform(programs[0], root / "taken")
        assert taken.returncode == 2 and "already exists" in taken.stderr, taken
        assert (root / "taken" / "file").read_text() == "mine"
        refuse_workloads(root)
    check_several(root, "quick" if which == "--tenth" else "final")
    for program in programs:
        print(f"{program.stem}: {check(program, 'quick' if which == '--tenth' else 'final', root)}", flush=True)
    overlapped = [check_overlap(program, root)
                  for program in (programs if which == "--all" else [PROGRAMS / "all_reduce_buckets.cu"])]
    assert "overlapped" in overlapped, overlapped
    print(f"--overlap: {overlapped.count('overlapped')} of {len(overlapped)} programs", flush=True)
    workloads = ["gemm_allgather", "moe_dispatch_combine", "flash_attention_cp", "kv_transfer"]
    if which == "--tenth":
        workloads = workloads[int(os.environ.get("CUCO_TENTH", "0")) % 4:][:1]
    for name in workloads:
        print(f"{name}: {check_workload(name, 'quick' if which == '--tenth' else 'final', root)}", flush=True)
print(f"transform: {len(programs)} programs and {len(workloads)} workloads ok")

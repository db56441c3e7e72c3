# SPDX-License-Identifier: Apache-2.0
"""Whole programs on other inputs than their own. usage: other_inputs.py CUCO SOURCE_FOLDER"""
import json, pathlib, subprocess, sys, tempfile

CUCO, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]) / "other_inputs.cu"


def text(**definitions):
    return "".join(f"#define {name} {value}\n" for name, value in definitions.items()) + SOURCE.read_text()


def workload(root, name, **definitions):
    seed = root / f"{name}.cu"
    seed.write_text(text(**definitions))
    folder = root / name
    subprocess.run([CUCO, "init", folder, "--from", seed, "--ranks", "1"], check=True, capture_output=True)
    return folder


def judge(folder, *flags, code=0, **definitions):
    program = folder / "candidate.cu"
    program.write_text(text(**definitions))
    words = [CUCO, "judge", "--own", "--json", "--fidelity", "quick", *flags, folder, program]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert done.returncode == code, f"{folder.name} {definitions}: {done.returncode}\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout)


def left_out(answer):
    return " ".join(answer["left_out"])


with tempfile.TemporaryDirectory() as root:
    root = pathlib.Path(root)
    plain = workload(root, "plain")
    same = judge(plain)
    assert same["verdict"] == "same" and "inputs" not in left_out(same), same
    assert judge(plain, KNOWS=1, code=1)["verdict"] == "different"

    # The host has what the device got, so a program that verifies its result by its data passes.
    verifies = workload(root, "verifies", VERIFIES=1)
    same = judge(verifies, VERIFIES=1)
    assert same["verdict"] == "same" and "inputs" not in left_out(same), same
    assert judge(verifies, VERIFIES=1, KNOWS=1, code=1)["verdict"] == "different"

    # One that knows what must come out is judged on its own inputs, and the verdict says so.
    by_heart = workload(root, "by_heart", VERIFIES=2)
    same = judge(by_heart, VERIFIES=2, KNOWS=1)
    assert "does not accept" in left_out(same), same

    # The checker sees what no schedule has shown.
    races = judge(plain, "--check", RACES=1, code=1)
    assert races["verdict"] == "different" and races["findings"][0]["kind"] == "shared-race", races
print("other inputs: ok")

# SPDX-License-Identifier: Apache-2.0
"""cuco init, check and judge as a person uses them. usage: run.py CUCO SOURCE_FOLDER"""
import json, pathlib, subprocess, sys, tempfile

CUCO, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])


def cuco(*words, code=0):
    done = subprocess.run([CUCO, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def split(folder):
    cuco("init", folder)
    assert "is there already" in cuco("init", folder, code=2)
    text = cuco("check", folder)
    assert "bound below the seed's time" in text and "rejects zeros" in text, text
    assert "shape fits" in text, text
    program = folder / "program.cu"
    answer = json.loads(cuco("judge", "--own", "--json", "--fidelity", "quick", folder, program))
    assert answer["verdict"] == "scored" and abs(answer["score"] - 0.5) < 1e-6, answer
    assert answer["predicted"] and "build" in answer["stages"], answer
    assert "correct on the check shapes" in cuco("judge", "--own", "--fidelity", "check", folder, program)
    # The same program with a wrong factor: the first wrong element is named.
    wrong = folder / "wrong.cu"
    wrong.write_text(program.read_text().replace("x[i] * x[i]", "x[i] * 0.5f"))
    text = cuco("judge", "--own", "--fidelity", "check", folder, wrong, code=1)
    assert "wrong result: y[0] on rank 0" in text, text
    # Mistakes in the files are told with their lines, all of them, before anything else.
    toml = folder / "workload.toml"
    toml.write_text(toml.read_text().replace("[tolerance]", "[tolerence]").replace('["hidden"]', '["hiden"]'))
    (folder / "oracle.cpp").unlink()
    line = toml.read_text().splitlines().index("[tolerence]") + 1
    text = cuco("check", folder, code=1)
    assert f"workload.toml:{line}: unknown key: tolerence (did you mean tolerance)" in text, text
    assert "unknown use: hiden (did you mean hidden)" in text and "oracle.cpp: no such file" in text, text


def whole(folder):
    text = cuco("init", folder, "--from", SOURCE / "whole.cu", "--ranks", "1")
    mark = "not with an oracle"
    assert mark in text, text
    assert mark in cuco("check", folder)
    program = folder / "program.cu"
    text = cuco("judge", "--own", "--fidelity", "standard", folder, program)
    assert "as the seed" in text and mark in text, text
    assert "predicted" in text and "1.00 x the seed" in text, text
    other = folder / "other.cu"
    other.write_text(program.read_text().replace("FACTOR 1", "FACTOR 2"))
    answer = cuco("judge", "--own", "--json", "--fidelity", "quick", folder, other, code=1)
    assert json.loads(answer)["verdict"] == "different", answer
    # It runs in the sandbox: it does not get to see the file, and says so.
    secret = folder / "secret"
    secret.write_text("x")
    nosy = folder / "nosy.cu"
    nosy.write_text(program.read_text().replace("int main() {", f'int main() {{\n  if (std::fopen("{secret}", "r")) return 7;'))
    cuco("judge", "--own", "--fidelity", "quick", folder, nosy)


with tempfile.TemporaryDirectory() as root:
    split(pathlib.Path(root) / "mine")
    whole(pathlib.Path(root) / "whole")
    assert "NOSUCH" in cuco("judge", "NOSUCH", "x.cu", code=2)
print("init, check, judge: ok")

# SPDX-License-Identifier: Apache-2.0
"""A whole program that adds in another order than its seed. usage: tolerance.py CUCO SOURCE_FOLDER"""
import json, pathlib, subprocess, sys, tempfile

CUCO, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]) / "all_reduce.cu"


def judge(folder, name, *flags, order=1, mistake=0, code=0):
    program = folder / f"{name}.cu"
    program.write_text(f"#define ORDER {order}\n#define MISTAKE {mistake}\n" + SOURCE.read_text())
    words = [CUCO, "judge", "--own", "--json", "--fidelity", "quick", *flags, folder, program]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert done.returncode == code, f"{name}: {done.returncode}\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout)


def differences(answer):
    assert answer["verdict"] == "different", answer
    return "\n".join(finding["message"] for finding in answer["findings"])


with tempfile.TemporaryDirectory() as root:
    folder = pathlib.Path(root) / "sums"
    subprocess.run([CUCO, "init", folder, "--from", SOURCE, "--ranks", "4"], check=True, capture_output=True)
    assert judge(folder, "order")["verdict"] == "same"
    text = differences(judge(folder, "order", "--exact", code=1))
    assert "bit by bit" in text, text
    text = differences(judge(folder, "rank", mistake=1, code=1))
    assert "fp32" in text and "bf16" in text and "of 4096 elements" in text, text
    text = differences(judge(folder, "element", mistake=2, code=1))
    assert "element 1234 is" in text and "1 of 4096 elements" in text, text
    text = differences(judge(folder, "count", mistake=3, code=1))
    assert "of 4 bytes from device 0" in text and "integers, as written" in text, text
    assert "element" not in text, text
print("tolerance: ok")

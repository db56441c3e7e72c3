# SPDX-License-Identifier: Apache-2.0
"""The same candidate gets the same verdict, byte by byte, from two judges that share a secret and nothing else. And
what an honest host uses is far below what is free; what is beyond it is on the clock. usage: repeat.py CUCO ROOT
"""
import json, os, pathlib, subprocess, sys, tempfile

CUCO, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
FREE = 0.010  # seconds of a rank's processor time in one cuco_run: docs/guides/judge.md
WORKLOAD = ROOT / "workloads/silu_and_mul"
SEED = (WORKLOAD / "program.cu").read_text()


def judge(text, fidelity, code, scratch):
    """The verdict, and the most that a rank's host has used."""
    candidate = scratch / "candidate.cu"
    candidate.write_text(text)
    with tempfile.TemporaryDirectory() as cache:
        secret = pathlib.Path(cache) / "cuco/secret"
        secret.parent.mkdir()
        secret.write_text("5" * 64)
        done = subprocess.run([CUCO, "judge", "--own", "--json", "--fidelity", fidelity, "--small", WORKLOAD, candidate],
                              capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": cache})
    assert done.returncode == code, f"{done.returncode}\n{done.stdout}{done.stderr}"
    answer = json.loads(done.stdout)
    del answer["stages"]
    return answer, answer.pop("host_seconds")


def same_twice(text, fidelity, code, scratch):
    (first, used), (second, again) = (judge(text, fidelity, code, scratch) for _ in range(2))
    assert first == second, f"{first}\n{second}"
    return first, max(used, again)


def changed(old, new):
    assert old in SEED, old
    return SEED.replace(old, new)


with tempfile.TemporaryDirectory() as folder:
    scratch = pathlib.Path(folder)
    scored, used = same_twice(SEED, "final", 0, scratch)
    assert scored["verdict"] == "scored", scored
    assert 0 < used < FREE / 2, f"an honest host used {used} s"

    # A neighbour's element that nobody waits for: the same finding, in the same words.
    token = "  const size_t token = blockIdx.x;\n"
    racy = changed(token, token + """  __shared__ int tile[256];
  tile[threadIdx.x] = threadIdx.x;
  if (tile[threadIdx.x ^ 32] < 0) return;
""")
    found, _ = same_twice(racy, "final", 1, scratch)
    assert found["verdict"] == "findings", found

    # Where nobody watches it is a crash, of a kernel whose own name is another one in each build.
    far = changed("store(&out[token * width + i]", "store(&out[(token + (1 << 30)) * width + i]")
    crashed, _ = same_twice(far, "quick", 1, scratch)
    assert crashed["verdict"] == "crashed" and "silu_and_mul<" in json.dumps(crashed), crashed

    shape = "  const Shape& s = state.shape;\n"
    busy = changed(shape, shape + """  static volatile unsigned long long work = 1;
  for (int i = 0; i < 20'000'000; ++i) work = work * 6364136223846793005ULL + 1;
""")
    slow, worked = judge(busy, "quick", 0, scratch)
    assert worked > 2 * FREE, f"it worked {worked} s"
    assert min(s["seconds"] for s in slow["shapes"]) > FREE, slow
    assert max(s["seconds"] for s in scored["shapes"]) < FREE / 100, scored
print(f"an honest host used {1000 * used:.2f} ms of the free 10 ms")

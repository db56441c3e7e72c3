#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs mistakes.cu once for each mistake and compares what is said about it, and the exit code.

    mistakes.py CUCO SOURCE
"""
import subprocess
import sys

cuco, source = sys.argv[1:3]
DEADLOCK = 125

# name, options, exit code, texts that have to be there, texts that must not ("it": the name).
CASES = [
    ("windows_differ", [], 0,
     ["ncclCommWindowRegister: the window is not symmetric: rank 0 has 4096 bytes at offset 0, rank 1 has 8192 bytes at "
      "offset 0", "group: invalid argument"], []),
    ("window_of_cuda_malloc", [], 0,
     ["is not memory from ncclMemAlloc; only such memory can become a window", "group: unhandled cuda error"], []),
    ("kinds_differ", [], 0,
     ["mismatched collective: the ranks call different collectives: rank 1 calls ncclBroadcast(count 4, ncclInt32, root 0), "
      "rank 0 calls ncclAllReduce(count 4, ncclInt32, ncclSum)", "group: invalid usage"], []),
    ("counts_differ", [], 0,
     ["mismatched collective: the counts differ: rank 1 calls ncclAllReduce(count 5, ncclInt32, ncclSum), rank 0 calls "
      "ncclAllReduce(count 4, ncclInt32, ncclSum)", "group: invalid usage"], []),
    ("buffer_of_another_device", [], 0,
     ["sendbuff is on device 1, but rank 0 uses device 0; allocate it after cudaSetDevice of the rank's device",
      "call: invalid argument"], []),
    ("stream_of_another_device", [], 0,
     ["the stream is not one of device 0, which rank 0 of communicator 1 uses", "call: unhandled cuda error"], []),
    ("memory_of_the_host", [], 0,
     ["sendbuff is not device memory: 16 bytes at 0x", "call: invalid argument"], []),
    ("one_rank_does_not_call", [], DEADLOCK,
     ["deadlock: nothing can go on. Who waits for what:",
      "NCCL: ncclAllReduce(count 4, ncclInt32, ncclSum) (number 0 on communicator 1): rank 1 waits in it; never called by "
      "rank 0"], ["end of it"]),
    ("crossed_sends", [], DEADLOCK,
     ["stream 16: ncclSend of rank 0 on communicator 1, after ncclRecv of rank 0 on communicator 1"], ["end of it"]),
    ("put_past_the_end", [], 0,
     ["GIN operation of rank 0 to rank 1 on communicator 1: 64 bytes at offset 4090 go past the end of the destination "
      "window, which has 4096", "rank 0: cudaErrorLaunchFailure"], []),
    ("signal_nobody_has", [], 0,
     ["signal 9 does not exist: the device communicator has 1", "rank 0: cudaErrorLaunchFailure"], []),
    ("wait_for_ever", [], DEADLOCK,
     [": signal 0 of rank 0 on communicator 1 (context 0, now 0)"], ["end of it"]),
    ("wait_for_a_signal_nobody_has", [], DEADLOCK,
     ["a signal or counter that rank 0 on communicator 1 does not have: its device communicator has 1 and 0"], ["end of it"]),
    ("count_with_nothing", [], 0,
     ["counter 3 does not exist: the device communicator has 0", "rank 0: cudaErrorLaunchFailure"], []),
    ("no_window", [], 0, ["illegal address: ", "rank 0: cudaErrorIllegalAddress"], []),
    ("store_to_nobody", [], 0, ["illegal address: ", "rank 0: cudaErrorIllegalAddress"], []),
    ("barrier_too_many", [], 0,
     ["a kernel uses an LSA barrier that communicator 1 does not have: its device communicator has 2; ask for as many with "
      "lsaBarrierCount or barrierCount as there are blocks that use one", "cudaErrorLaunchFailure"], []),
    ("store_out_of_reach", ["--ranks", "16", "--topology", "ib2x8"], 0,
     ["rank 0 used a load/store pointer into rank 15's copy of a window of communicator 1, but its load/store team is ranks "
      "0 to 7; reach rank 15 with GIN", "rank 0: cudaErrorIllegalAddress"], []),
    ("no_nic", ["--ranks", "2", "--topology", "nvlink8-nonic"], 0,
     ["ncclDevCommCreate: GIN needs a NIC and topology nvlink8-nonic has none", "group: invalid usage"], []),
    ("put_value", [], 0,
     ["rank 0 uses ncclGin::putValue with a signal: right by NCCL's contract, but the proxy of NCCL 2.28.9 writes the value "
      "to the wrong place and loses the signal; fixed in 2.29.7"], []),
    ("world_barrier_on_rail", ["--ranks", "3"], 0,
     ["takes part in a GIN barrier of devComm.railGinBarrier with rank ", "NCCL 2.28.9 hangs with three or more ranks on a node",
      "end of world_barrier_on_rail"], []),
    ("world_barrier_on_rail", ["--ranks", "2"], 0, ["end of world_barrier_on_rail"], ["warning"]),
    ("requirements_without_effect", [], 0,
     ["lsaLLA2ABlockCount and lsaLLA2ASlotCount have no effect", "NCCL 2.28.9 ignores GIN signals and counters of your own resource "
      "requirements", "own signals start at 3"], []),
    ("send_what_is_received", [], 0,
     ["warning: rank 0 calls ncclSend(count 4, ncclInt32, peer 1) and ncclRecv(count 4, ncclInt32, peer 1) on the same memory "
      "in one group"], []),
    ("send_what_was_received", [], 0, ["end of send_what_was_received"], ["warning"]),
    ("compute_for_long", ["--ranks", "2", "--set", "run.patience=1s"], 0,
     ["nothing has happened for 1 s; the virtual cluster waits for", "thread 0 (tid "], []),
    ("poll_pinned_memory", [], 0,
     ["this run may differ when repeated: ", "thread 0 waits for a value in pinned memory, perhaps", "end of poll_pinned_memory"],
     []),
    ("dies", [], 3, [], ["end of it"]),
    ("nothing", [], 0, ["end of nothing"], ["cuco:"]),
]

failed = 0
for name, options, code, wanted, unwanted in CASES:
    command = [cuco, "run", *(options or ["--ranks", "2"]), "--nvcc", "-DNCCL_GIN_GDAKI_ENABLE=0", source, "--", name]
    result = subprocess.run(command, capture_output=True, text=True, timeout=200)
    said = result.stdout + result.stderr
    problems = [f"exit code {result.returncode}, not {code}"] if result.returncode != code else []
    problems += [f"not said: {text}" for text in wanted if text not in said]
    problems += [f"said: {text}" for text in unwanted if text.replace("it", name) in said]
    if problems:
        failed += 1
        print(f"{name}: " + "; ".join(problems) + "\n" + said)
# A rank that dies ends the run, and is named.
death = subprocess.run([cuco, "run", "--ranks", "3",
                        source.replace("mistakes.cu", "death_mpi.cu")], capture_output=True, text=True, timeout=200)
if death.returncode == 0 or "communicator 1: rank 1 is gone: rank 1 (pid" not in death.stderr:
    failed += 1
    print(f"death: exit code {death.returncode}\n" + death.stdout + death.stderr)
# A circle of waits through MPI, streams and collectives is told whole.
circle = subprocess.run([cuco, "run", "--ranks", "3",
                         source.replace("mistakes.cu", "dead_lock_mpi.cu")], capture_output=True, text=True, timeout=200)
for text in ["thread 0: waits for MPI: a message from rank 1, tag 3", "waits for the default stream (cudaStreamSynchronize)",
             "waits for MPI: world rank 0 to receive 20000 bytes from rank 2, tag 4", "never called by ranks 0, 2"]:
    if circle.returncode != DEADLOCK or text not in circle.stderr:
        failed += 1
        print(f"circle: exit code {circle.returncode}, wanted: {text}\n" + circle.stdout + circle.stderr)
print("mistakes: ok" if failed == 0 else f"{failed} failed")
sys.exit(1 if failed else 0)

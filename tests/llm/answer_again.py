#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers a mailbox's questions from an earlier recording: answer_again.py RECORDING FOLDER

For recording a run anew after prompts have changed: answers are found by decision, role and turn, whatever the
question says now. Ends when nothing has been asked for a while, or when there is no answer.
"""
import json
import pathlib
import sys
import time

PATIENCE = 3600  # a judgement on a busy machine takes long; whoever started this ends it


def main():
    answers = {}
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        entry = json.loads(line)
        if "role" in entry:
            answers[entry["decision"], entry["role"], entry["turn"]] = entry["answer"]
    folder, last = pathlib.Path(sys.argv[2]), time.time()
    while time.time() - last < PATIENCE:
        for question in folder.glob("*.question.md"):
            name = question.name.removesuffix(".question.md")
            target = folder / f"{name}.answer.md"
            if target.exists():
                continue
            decision, role, turn, _ = name.split("-")
            answer = answers.get((int(decision), role, int(turn)))
            if answer is None:
                sys.exit(f"no answer for {name}")
            (folder / "draft").write_text(answer)
            (folder / "draft").rename(target)
            last = time.time()
        time.sleep(0.2)


main()

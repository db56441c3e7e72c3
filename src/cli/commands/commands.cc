// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/commands.h"

#include <algorithm>
#include <array>

namespace cuco::cli {

// Each is defined in command_NAME.cc, here or in results/.
std::unique_ptr<Command> make_analyze_command();
std::unique_ptr<Command> make_best_command();
std::unique_ptr<Command> make_check_command();
std::unique_ptr<Command> make_completion_command();
std::unique_ptr<Command> make_config_command();
std::unique_ptr<Command> make_cost_command();
std::unique_ptr<Command> make_db_command();
std::unique_ptr<Command> make_demo_command();
std::unique_ptr<Command> make_diff_command();
std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_evolve_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_init_command();
std::unique_ptr<Command> make_judge_command();
std::unique_ptr<Command> make_knowledge_command();
std::unique_ptr<Command> make_llm_command();
std::unique_ptr<Command> make_optimize_command();
std::unique_ptr<Command> make_prompt_command();
std::unique_ptr<Command> make_replay_command();
std::unique_ptr<Command> make_report_command();
std::unique_ptr<Command> make_resume_command();
std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_runs_command();
std::unique_ptr<Command> make_serve_command();
std::unique_ptr<Command> make_show_command();
std::unique_ptr<Command> make_space_command();
std::unique_ptr<Command> make_transform_command();
std::unique_ptr<Command> make_tune_command();

namespace {

constexpr std::string_view kJob = "work";
constexpr std::string_view kRuns = "results";
constexpr std::string_view kMachine = "this machine";

constexpr auto kCommands = std::to_array<CommandEntry>({
    {"optimize", kJob, "find a faster, device-initiated version of a workload",
     "cuco optimize workloads/gemm_allgather", make_optimize_command},
    {"evolve", kJob, "search on from a given program, without the fast path",
     "cuco evolve workloads/gemm_allgather --start mine.cu", make_evolve_command},
    {"tune", kJob, "tune a workload's kernels in rounds: profile, plan, code, verify",
     "cuco tune workloads/silu_and_mul", make_tune_command},
    {"transform", kJob, "replace a program's NCCL collectives by kernels of its own, verified",
     "cuco transform prog.cu -o mine/", make_transform_command},
    {"run", kJob, "run a CUDA program on virtual GPUs, on this machine's CPU",
     "cuco run --ranks 4 prog.cu --size 1024", make_run_command},
    {"judge", kJob, "judge one program: is it correct, and how fast is it",
     "cuco judge workloads/gemm_allgather mine.cu", make_judge_command},
    {"analyze", kJob, "show what a program communicates, with what, and what could overlap",
     "cuco analyze prog.cu", make_analyze_command},
    {"space", kJob, "list the communication designs that are valid for a program, and why not",
     "cuco space prog.cu --topology nvlink8", make_space_command},
    {"init", kJob, "create a workload folder: an example, or around an existing program",
     "cuco init workloads/mine --ranks 4", make_init_command},
    {"check", kJob, "check a workload folder: files, oracle, seed",
     "cuco check workloads/gemm_allgather", make_check_command},
    {"prompt", kJob, "print exactly what a model would be sent (needs no key and no network)",
     "cuco prompt propose workloads/gemm_allgather", make_prompt_command},
    {"resume", kJob, "continue an interrupted run, or search further",
     "cuco resume last --budget 30m", make_resume_command},
    {"runs", kRuns, "list the runs", "cuco runs", make_runs_command},
    {"show", kRuns, "show a run's candidates, or one in full", "cuco show last 11 --diff",
     make_show_command},
    {"explain", kRuns, "explain why a candidate was tried, and what it gained or broke",
     "cuco explain last 11", make_explain_command},
    {"cost", kRuns, "show what a run's models cost: tokens and dollars, by role and candidate",
     "cuco cost last", make_cost_command},
    {"diff", kRuns, "show how two candidates of a run differ", "cuco diff last 3 11",
     make_diff_command},
    {"best", kRuns, "write a run's winner to a folder", "cuco best last -o faster/",
     make_best_command},
    {"replay", kRuns, "compare ways of searching on a run's recorded verdicts",
     "cuco replay last --policy search --policy random", make_replay_command},
    {"knowledge", kRuns, "show, export, merge or forget what runs have taught",
     "cuco knowledge show", make_knowledge_command},
    {"db", kRuns, "verify, export or vacuum a run's file", "cuco db verify last", make_db_command},
    {"report", kRuns, "write a run as one self-contained HTML page",
     "cuco report last -o report.html", make_report_command},
    {"serve", kRuns, "show all runs in a browser, live", "cuco serve --port 8765",
     make_serve_command},
    {"demo", kRuns, "play back a recorded run (needs no GPU and no nvcc)", "cuco demo",
     make_demo_command},
    {"doctor", kMachine, "show what this machine can do, and how to get what is missing",
     "cuco doctor", make_doctor_command},
    {"llm", kMachine, "list model services, or test one with a single cheap call",
     "cuco llm test anthropic", make_llm_command},
    {"config", kMachine, "print each setting and where it comes from",
     "cuco config --set search.budget=30m", make_config_command},
    {"completion", kMachine, "print a completion script for bash, zsh or fish",
     "source <(cuco completion bash)", make_completion_command},
});

}  // namespace

std::span<const CommandEntry> all_commands() {
  return kCommands;
}

const CommandEntry* find_command(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &CommandEntry::name);
  return found == kCommands.end() ? nullptr : &*found;
}

}  // namespace cuco::cli

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the folders of src/ in order; prints each offence and fails if there is one.

  check_layers.py [ROOT]     (default: the repository that holds this file)

- A file includes only modules that tools/layers.txt allows to its own.
- The operating system is used by modules that name `os` there, and by the main file of a program.
- A folder holds about 25 source files at most.
- A header's name exists once, so that "judge.h" is one file.
"""
import collections
import pathlib
import re
import sys

SOURCES = {".h", ".cc", ".cu", ".cuh", ".inc"}
MOST_FILES = 27  # "about 25": two more, so that a small change need not split a folder

OS_HEADER = re.compile(
    r"#\s*include\s*<((sys|linux|net|netinet|arpa|asm)/.*|fcntl\.h|unistd\.h|poll\.h|signal\.h|csignal|dlfcn\.h"
    r"|sched\.h|dirent\.h|spawn\.h|pthread\.h|semaphore\.h|termios\.h|pty\.h|netdb\.h|ifaddrs\.h|pwd\.h|grp\.h|glob\.h"
    r"|ftw\.h|wait\.h|mqueue\.h|link\.h|execinfo\.h|ucontext\.h|fstream)>")
CALLS = """accept accept4 bind chmod clone close closedir connect creat dlclose dlerror dlopen dlsym dup dup2 dup3
  epoll_create1 epoll_ctl epoll_wait execv execve execvp execvpe _exit fchmod fcntl flock fork fstat fsync fdatasync
  ftruncate getpeername getpid getppid getrandom getsockopt getuid geteuid ioctl isatty kill link listen lseek lstat
  madvise memfd_create mkdir mkdtemp mkfifo mkostemp mkstemp mlock mmap mprotect munmap open openat opendir pause
  personality pipe pipe2 poll popen posix_spawn posix_spawnp ppoll prctl pread pthread_create pwrite raise read readdir
  readlink readv recv recvfrom recvmsg rename rmdir sched_getaffinity sched_setaffinity select send sendmsg sendto
  setenv setrlimit setsid setsockopt shm_open shutdown sigaction signal sigprocmask socket socketpair stat symlink
  syscall system truncate umask unlink unsetenv usleep wait waitid waitpid write writev""".split()
OS_CALL = re.compile(
    r"(?<![\w>:])::(?:" + "|".join(CALLS) + r")\s*\("       # ::open(
    r"|\bstd::(?:basic_)?[io]?fstream\b|\bstd::filebuf\b"  # std::ifstream
    r"|(?<![\w.>])(?:std::)?f(?:re|d)?open\s*\(")           # fopen(


def read_layers(file: pathlib.Path) -> dict[str, set[str]]:
    """What each module may include. `os` is the operating system."""
    allowed: dict[str, set[str]] = {}
    for line in file.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            module, _, names = line.partition(":")
            unknown = set(names.split()) - allowed.keys()
            if unknown:
                sys.exit(f"layers.txt: {module} names {sorted(unknown)} before they are declared")
            allowed[module.strip()] = set(names.split())
    return allowed


def module_of(path: str, allowed: dict[str, set[str]]) -> str | None:
    """The module with the longest name that is a folder above `path`."""
    folders = path.split("/")[:-1]
    for length in range(len(folders), 0, -1):
        if (name := "/".join(folders[:length])) in allowed:
            return name
    return None


def without_comment(line: str) -> str:
    return "" if line.lstrip().startswith(("//", "*", "/*")) else line.split(" //")[0]


def check_file(path: str, text: str, allowed: dict[str, set[str]]) -> list[str]:
    module = module_of(path, allowed)
    if module is None:
        return [f"src/{path}: its folder is not in tools/layers.txt"]
    name = path.rsplit("/", 1)[-1]
    may_use_os = "os" in allowed[module] or name == "main.cc" or name.endswith("_main.cc")
    bad = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*["<]([a-z_/]+/[^">]+)', line)
        other = module_of(match[1], allowed) if match else None
        if other is not None and other != module and other not in allowed[module]:
            bad.append(f"src/{path}:{number}: {module} may not include {other}")
        found = OS_HEADER.search(line) or OS_CALL.search(without_comment(line))
        if found and not may_use_os:
            bad.append(f"src/{path}:{number}: {module} may not use the operating system, "
                       f"only system/ may: {found[0].strip()}")
    return bad


def check(root: pathlib.Path) -> list[str]:
    allowed = read_layers(root / "tools/layers.txt")
    files = [f for f in sorted((root / "src").rglob("*")) if f.suffix in SOURCES]
    bad = []
    for file in files:
        bad += check_file(file.relative_to(root / "src").as_posix(), file.read_text(), allowed)
    for folder, count in collections.Counter(f.parent for f in files).items():
        if count > MOST_FILES:
            bad.append(f"{folder.relative_to(root)}: {count} source files; split it, about 25 is the most")
    homes = collections.defaultdict(list)
    for file in files:
        if file.suffix in {".h", ".cuh"}:
            homes[file.name].append(file.relative_to(root).as_posix())
    for same in homes.values():
        if len(same) > 1:
            bad.append(f"{same[0]}: {', '.join(same[1:])} has the same name; rename one")
    return bad


def main() -> int:
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    bad = check(root)
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
# Sourced by ./cuco, ./test and .ci/run with $root set: packages, build, progress. Plain bash, so
# that it runs on a machine that has nothing yet.

# Says what is being done, on standard error: standard output belongs to the program.
say() { printf '%-12s %s\n' "$1" "$2" >&2; }

# packages_of SECTION…: the package names of these sections of packages.txt.
packages_of() {
  local line section="" package unless program
  while IFS= read -r line; do
    case "$line" in
      "" | "#"*) ;;
      "["*) section="${line//[\[\]]/}" ;;
      *)
        [[ " $* " == *" $section "* ]] || continue
        read -r package unless program <<<"$line"
        [ "$unless" = unless ] && command -v "$program" >/dev/null && continue
        echo "$package"
        ;;
    esac
  done <"$root/packages.txt"
}

# as_root COMMAND…: runs it as root if that can be had without surprising anybody.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    sudo "$@"
  else
    return 77
  fi
}

# install_packages SECTION…: makes sure they are there. A stamp spares the question next time.
install_packages() {
  local stamp="$root/build/.packages-$*" missing log seconds=$SECONDS
  stamp="${stamp// /-}"
  [ "$stamp" -nt "$root/packages.txt" ] && return 0
  mkdir -p "$root/build"
  if ! command -v dpkg-query >/dev/null; then
    say "setting up" "not a Debian system: packages.txt lists what has to be installed"
    touch "$stamp"
    return 0
  fi
  local wanted
  mapfile -t wanted < <(packages_of "$@")
  mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}" | sort) \
    <(dpkg-query -W -f '${db:Status-Abbrev}|${Package}\n' "${wanted[@]}" 2>/dev/null |
      sed -n 's/^ii *|//p' | sort))
  if [ ${#missing[@]} -gt 0 ]; then
    say "setting up" "${#missing[@]} packages missing: ${missing[*]}"
    log="$root/build/apt.log"
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}")
    : >"$log"
    if ! as_root "${install[@]}" >>"$log" 2>&1 </dev/null; then
      # Package lists may be old or absent on a fresh machine.
      if ! { as_root apt-get update && as_root "${install[@]}"; } >>"$log" 2>&1 </dev/null; then
        echo "cuco: these Debian packages are missing and could not be installed from here:" >&2
        echo "          ${missing[*]}" >&2
        if [ "$(id -u)" != 0 ]; then echo "      (not root, and no sudo without a password)" >&2
        else grep -m3 '^[EW]: ' "$log" | sed 's/^/      apt: /' >&2; fi
        echo "      install them with:  sudo apt-get update && sudo apt-get install ${missing[*]}" >&2
        exit 3
      fi
    fi
    say "" "installed ($((SECONDS - seconds)) s)"
  fi
  touch "$stamp"
}

# Prints where nvcc is, or nothing. The same order as src/toolchain/cuda_toolkit.cc: a variable that is set is never ignored.
find_nvcc() {
  local candidate home=${CUDA_HOME:-${CUDA_PATH:-}}
  if [ -n "$home" ]; then
    if [ -x "$home/bin/nvcc" ]; then echo "$home/bin/nvcc"; fi
    return
  fi
  for candidate in "$(command -v nvcc)" /usr/local/cuda/bin/nvcc \
    $(printf '%s\n' /usr/local/cuda-*/bin/nvcc | sort -rV); do
    [ -x "$candidate" ] && { echo "$candidate"; return; }
  done
}

warn_without_nvcc() {
  [ -n "$(find_nvcc)" ] && return
  say "note" "no nvcc: programs cannot be compiled here. Install the CUDA toolkit 13.0 with NCCL 2.28.9 or"
  say "" "newer headers and put nvcc on PATH or set CUDA_HOME. What needs no compiler works without it."
}

# show_progress: turns ninja's "[12/214] …" lines into a bar; keeps everything else in $1.
show_progress() {
  local log=$1 line done_ total cells seconds last=-1 bar
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] && $line != *"Re-checking"* ]] || continue
    done_=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    cells=$((done_ * 30 / total)) seconds=$((SECONDS - build_start))
    if [ -t 2 ]; then
      printf -v bar '%*s' "$cells" ''
      printf '\r%-12s [%s%*s] %d/%d  %d s ' building "${bar// /█}" $((30 - cells)) '' "$done_" "$total" "$seconds" >&2
    elif [ $((cells / 6)) != "$last" ]; then
      last=$((cells / 6))
      say building "$done_/$total  $seconds s"
    fi
  done
}

# build PRESET TARGET…: configures and builds, one at a time, and leaves a stamp.
build() {
  local preset=$1 folder="$root/build/$1" log="$root/build/$1.log" build_start=$SECONDS
  shift
  mkdir -p "$folder"
  exec 8>"$folder/.lock"
  flock 8
  touch "$folder/.started"
  if [ ! -f "$folder/build.ninja" ]; then
    say configuring "$folder"
    # Precompiled headers and joined test files: a first build takes a third less.
    if ! (cd "$root" && cmake --preset "$preset" -DCUCO_PCH=ON -DCUCO_UNITY=ON >"$log" 2>&1); then
      tail -25 "$log" >&2
      echo "cuco: configuring failed; the whole output is in $log" >&2
      exit 3
    fi
  fi
  : >"$log"
  if ! NINJA_STATUS='[%f/%t] ' ninja -C "$folder" "$@" 2>&1 | show_progress "$log"; then
    [ -t 2 ] && echo >&2
    grep -E -A8 'FAILED|error:|ninja: error' "$log" | head -40 >&2
    echo "cuco: the build failed; the whole output is in $log" >&2
    exit 3
  fi
  [ -t 2 ] && grep -q '^\[' "$log" && echo >&2
  # What changed while the build ran is newer than its start, so it will be built next time.
  mv "$folder/.started" "$folder/.built"
  exec 8>&-
}

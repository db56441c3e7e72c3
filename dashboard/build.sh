#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh SOURCE WORK OUTPUT: builds the dashboard's pages in a folder of their own, so that nothing is written
# into the tree. The pages are a comfort: without npm or its packages all else still builds, and `cuco serve`
# says that it shows plain pages. With CUCO_REQUIRE=npm, as in CI, a failure is one.
set -uo pipefail
source=$1 work=$2 output=$3
log=$work/build.log

give_up() {
  rm -rf "$output"
  echo "dashboard: $1; cuco serve will show pages without scripts" >&2
  [[ ",${CUCO_REQUIRE:-}," == *,npm,* ]] && exit 1
  exit 0
}

mkdir -p "$work" || exit 1
[ -x "${NPM:-}" ] || give_up "no npm"
command -v node >/dev/null || give_up "no node"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 18 ? 0 : 1)' || give_up "node is older than 18"
rm -rf "$work/src" "$work/public" "$work/dist"
cp -r "$source"/{index.html,package.json,package-lock.json,tsconfig.json,vite.config.js,src,public} "$work" || exit 1
cd "$work" || exit 1
if ! cmp -s package-lock.json node_modules/.installed-lock; then
  "$NPM" ci --no-audit --no-fund --prefer-offline >"$log" 2>&1 </dev/null || give_up "npm cannot install its packages ($log)"
  cp package-lock.json node_modules/.installed-lock
fi
"$NPM" run --silent build >"$log" 2>&1 </dev/null || { tail -20 "$log" >&2; give_up "its build failed ($log)"; }
rm -rf "$output" && mkdir -p "$(dirname "$output")" && cp -r dist "$output"

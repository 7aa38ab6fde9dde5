#!/usr/bin/env bash
# Builds the image and runs the Action in it as GitHub's runner does, plays the examples for pull requests
# through the reusable workflow, then runs others through act.
#   .ci/container.sh BINARY SCRATCH [SCENE]...
# Uses the bench beside the repository (a Docker engine by hand, base images from Debian's packages, a
# git server that demands a token, a GitHub that holds to its own description, act). Exit code 77: it could not be shown on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$1 scratch=$2 bench=${PERFTRAIL_BENCH:-$PWD/../shared/bench}
export BENCH_DIR=${BENCH_DIR:-${TMPDIR:-/tmp}/bench}

not_shown() { printf '\n!! NOT SHOWN: the container: %s\n' "$*" >&2; exit 77; }
[ -f "$bench/01-docker.sh" ] || not_shown "there is no bench at ../shared/bench"
[ "$(id -u)" = 0 ] || not_shown "starting a Docker engine and giving files to other users needs root"

mkdir -p "$BENCH_DIR"
log=$scratch/bench.log
step() { "$bench/$1" "${@:2}" >>"$log" 2>&1; }
step 00-setup.sh || { tail -5 "$log" >&2; not_shown "the bench's programs cannot be installed"; }
docker=/usr/bin/docker
[ -x "$docker" ] || docker=docker
started=no
if ! "$docker" info >/dev/null 2>&1; then
  step 01-docker.sh start || { tail -5 "$log" >&2; not_shown "no Docker engine starts here"; }
  started=yes
fi
git_up=no
"$bench/40-git-server.sh" status >/dev/null 2>&1 || git_up=started
end() {
  [ "$git_up" = no ] || step 40-git-server.sh stop || true
  [ "$started" = no ] || step 01-docker.sh stop || true
}
trap end EXIT
step 10-base-images.sh || { tail -5 "$log" >&2; not_shown "the base images cannot be made"; }
step 40-git-server.sh start || { tail -5 "$log" >&2; not_shown "the git server does not start"; }

# The context holds what .dockerignore lets through, and the program that was built already.
context=$scratch/context
mkdir -p "$context/dist" "$scratch/runner"
cp Dockerfile .dockerignore Cargo.toml "$context/"
strip -o "$context/dist/perftrail" "$binary"
DOCKER_BUILDKIT=1 "$docker" build -q --build-arg BINARY=prebuilt -t perftrail-ci "$context" >/dev/null

export DOCKER=$docker BENCH_GIT_SERVER=$bench/40-git-server.sh
python3 .ci/container.py . perftrail-ci "$scratch/runner" "$BENCH_DIR/git" "${@:3}"
for scenes in comment pulls again; do
  "$BENCH_DIR/venv/bin/python3" ".ci/$scenes.py" . perftrail-ci "$scratch/runner" "$BENCH_DIR/git" "${@:3}"
done

# Through act, once: the ten lines, a matrix with one job that publishes, three jobs with one plan.
act() { # EXAMPLE RUNS-EXPECTED
  local name=$1 expected=$2 consumer=$scratch/act-$1 repository=$BENCH_DIR/git/repos/octo-org/act-$1.git found
  python3 .ci/consumer.py "examples/workflows/$name.yml" "$consumer"
  git -C "$consumer" init -q -b main
  git -C "$consumer" add -A
  git -C "$consumer" -c user.name=ci -c user.email=ci@example.org commit -q -m Begin
  rm -rf "$repository" "$scratch/artifacts"
  mkdir "$scratch/artifacts"
  "$bench/40-git-server.sh" repo "octo-org/act-$name" >/dev/null
  echo '{"inputs": {}, "ref": "refs/heads/main", "repository": {"private": true, "default_branch": "main"}}' >"$scratch/event.json"
  GITHUB_API_URL=http://127.0.0.1:${GIT_PORT:-8418} GITHUB_RUN_ID=$RANDOM OUT=$scratch/out-$name \
    "$bench/20-act-run.sh" "$consumer" workflow_dispatch "$scratch/event.json" -- --rebuild=false \
    -s RESULTS_TOKEN=bench-token --container-options "-v $scratch/artifacts:/artifacts" >>"$log" 2>&1 ||
    { tail -40 "$scratch/out-$name/log.txt" >&2; echo "FAIL act: $name" >&2; exit 1; }
  found=$(git -c safe.directory='*' -C "$repository" ls-tree -r --name-only results | grep -c '^runs/.*/stats.json$') || true
  [ "$found" = "$expected" ] || { tail -40 "$scratch/out-$name/log.txt" >&2; echo "FAIL act: $name published $found runs" >&2; exit 1; }
  grep -q '## scale_run: succeeded' "$scratch/out-$name/summary.md" || { echo "FAIL act: $name has no summary" >&2; exit 1; }
  echo "ok   act: $name, $found runs published, summary"
}
"$docker" tag perftrail-ci act-dockeraction:latest
act one-step 1
act matrix 2
act separate-jobs 1

#!/bin/sh
# Puts the perftrail program into a folder of its own and that folder on the path of later steps.
# Reads PERFTRAIL_SETUP_VERSION, _URL, _PATH and _SHA256; the first of path, url and version counts.
set -eu

repository=OWNER/perftrail
here=$(cd "$(dirname "$0")" && pwd)
server=${GITHUB_SERVER_URL:-https://github.com}

fail() {
  printf '::error title=perftrail setup::%s\n' "$1"
  exit 1
}

fetch() { # ADDRESS FILE
  if command -v curl >/dev/null 2>&1; then
    curl --fail --silent --show-error --location --retry 5 --output "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then
    wget --quiet --tries=5 --output-document="$2" "$1"
  elif command -v python3 >/dev/null 2>&1; then
    python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(sys.argv[1], sys.argv[2])' "$1" "$2"
  else
    fail "neither curl, wget nor python3 is here to download perftrail: install one, or give the input path"
  fi
}

sum_of() { sha256sum "$1" | cut -d' ' -f1; }

check_sum() { # FILE EXPECTED
  [ "$(sum_of "$1")" = "$2" ] || fail "the download has the sha256 $(sum_of "$1"), expected is $2: it is not used"
}

# An attestation says which workflow made the file; only GitHub's own program can read it.
check_attestation() { # FILE
  if [ "$server" != https://github.com ] || ! command -v gh >/dev/null 2>&1; then
    echo "perftrail setup: gh is not here, so the attestation is not checked; the checksum is right"
    return
  fi
  gh attestation verify "$1" --repo "$repository" >/dev/null || fail "the attestation of the release does not fit: it is not used"
}

place() { # FILE: a program, or an archive that holds one
  case $1 in
    *.tar.gz) tar -xzf "$1" -C "$bin" perftrail ;;
    *) cp "$1" "$bin/perftrail" ;;
  esac
  chmod 755 "$bin/perftrail"
}

bin=$(mktemp -d "${RUNNER_TEMP:-/tmp}/perftrail-bin-XXXXXX")
load=$(mktemp -d "${RUNNER_TEMP:-/tmp}/perftrail-load-XXXXXX")
trap 'rm -rf "$load"' EXIT

if [ -n "${PERFTRAIL_SETUP_PATH:-}" ]; then
  [ -f "$PERFTRAIL_SETUP_PATH" ] || fail "there is no file $PERFTRAIL_SETUP_PATH"
  [ -z "${PERFTRAIL_SETUP_SHA256:-}" ] || check_sum "$PERFTRAIL_SETUP_PATH" "$PERFTRAIL_SETUP_SHA256"
  place "$PERFTRAIL_SETUP_PATH"
elif [ -n "${PERFTRAIL_SETUP_URL:-}" ]; then
  case $PERFTRAIL_SETUP_URL in *.tar.gz) file=$load/perftrail.tar.gz ;; *) file=$load/perftrail ;; esac
  fetch "$PERFTRAIL_SETUP_URL" "$file"
  if [ -n "${PERFTRAIL_SETUP_SHA256:-}" ]; then
    check_sum "$file" "$PERFTRAIL_SETUP_SHA256"
  else
    echo "::warning title=perftrail setup::no sha256 was given: the download is used as it came"
  fi
  place "$file"
else
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) target=x86_64-unknown-linux-musl ;;
    Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
    *) fail "there is no release for $(uname -s) $(uname -m): build perftrail and give the input path" ;;
  esac
  version=${PERFTRAIL_SETUP_VERSION:-$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../Cargo.toml" | head -n 1)}
  version=${version#v}
  case $version in *[!0-9A-Za-z.+-]* | '') fail "the version has a character that no version has" ;; esac
  name=perftrail-$target.tar.gz
  release=$server/$repository/releases/download/v$version
  fetch "$release/$name" "$load/$name"
  fetch "$release/SHA256SUMS" "$load/SHA256SUMS"
  expected=${PERFTRAIL_SETUP_SHA256:-$(awk -v name="$name" '$2 == name { print $1 }' "$load/SHA256SUMS")}
  [ -n "$expected" ] || fail "SHA256SUMS of the release does not name $name"
  check_sum "$load/$name" "$expected"
  check_attestation "$load/$name"
  place "$load/$name"
fi

said=$("$bin/perftrail" --version) || fail "the program does not run on this machine"
echo "$said in $bin"
[ -z "${GITHUB_PATH:-}" ] || printf '%s\n' "$bin" >>"$GITHUB_PATH"
[ -z "${GITHUB_OUTPUT:-}" ] || printf 'version=%s\n' "$said" >>"$GITHUB_OUTPUT"

#!/bin/sh
# Puts the perftrail program into a folder of its own and that folder on the path of later steps.
# Reads PERFTRAIL_SETUP_VERSION, _URL, _PATH and _SHA256; the first of path, url and version counts.
# Plain sh, and no program that small images lack: it runs in `container:` jobs too.
set -eu

repository=OWNER/perftrail
here=$(cd "$(dirname "$0")" && pwd)
server=${GITHUB_SERVER_URL:-https://github.com}
server=${server%/}
temp=${RUNNER_TEMP:-${TMPDIR:-/tmp}}
bin='' load=''
trap 'rm -rf "$load"' EXIT

tell() { # LEVEL TEXT: an annotation. Nothing in the text is a command of its own.
  text=$(printf '%s' "$2" | tr '\r\n' '  ' | sed -e 's/%/%25/g' -e 's/##\[/## [/g')
  printf '::%s title=perftrail setup::%s\n' "$1" "$text"
}

fail() {
  [ -z "$bin" ] || rm -rf "$bin"
  tell error "$1"
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

fetch() { # ADDRESS FILE
  # The wget of small images knows short flags only.
  if have curl; then
    curl --fail --silent --show-error --location --retry 5 --output "$2" "$1"
  elif have wget; then
    wget -q -O "$2" "$1"
  elif have python3; then
    python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(sys.argv[1], sys.argv[2])' "$1" "$2"
  else
    fail "neither curl, wget nor python3 is here to download perftrail: install one in a step before, or give the input path"
  fi
}

sum_of() { # FILE
  if have sha256sum; then
    sha256sum <"$1"
  elif have shasum; then
    shasum -a 256 <"$1"
  else
    openssl dgst -sha256 -r <"$1"
  fi | cut -d' ' -f1
}

check_sum() { # FILE EXPECTED
  have sha256sum || have shasum || have openssl ||
    fail "neither sha256sum, shasum nor openssl is here to check the download: install one in a step before"
  expected=$(printf '%s' "$2" | tr -d ' ' | tr A-F a-f)
  found=$(sum_of "$1")
  [ "$found" = "$expected" ] || fail "${1##*/} has the sha256 $found, expected is $expected: it is not used"
}

# The sum that a list of sums names; nothing where it names none.
sum_in() { # LIST NAME
  while read -r sum name; do
    [ "${name#\*}" != "$2" ] || printf '%s' "$sum"
  done <"$1"
}

# An attestation says which workflow made the file; only GitHub's own program can read it.
check_attestation() { # FILE
  if [ "$server" != https://github.com ]; then
    tell notice "the attestation is not checked: $server is not github.com; the checksum is right"
  elif ! have gh; then
    tell notice "the attestation is not checked: the program gh is not here; the checksum is right"
  elif ! gh attestation verify --help >/dev/null 2>&1; then
    tell notice "the attestation is not checked: this gh is older than attestations; the checksum is right"
  elif ! why=$(gh attestation verify "$1" --repo "$repository" \
    --signer-workflow "$repository/.github/workflows/release.yml" 2>&1); then
    fail "the attestation of ${1##*/} does not fit, or could not be looked up: it is not used; gh says: $why"
  else
    echo "the attestation is right"
  fi
}

# Whether this machine can run a program. A shell would take a foreign one for a script.
check_program() { # FILE
  head=$(od -An -tx1 -N20 "$1" | tr -d ' \n')
  case $head in
    2321*) return ;;
    7f454c46*) ;;
    *)
      [ "$(uname -s)" != Linux ] || fail "${1##*/} is no program: is it the page of a login or a proxy?"
      return
      ;;
  esac
  case $(uname -m) in
    x86_64) machine=3e00 ;;
    aarch64 | arm64) machine=b700 ;;
    *) return ;;
  esac
  case $head in
    *"$machine") ;;
    *) fail "${1##*/} is a program for another processor than the $(uname -m) of this machine" ;;
  esac
}

place() { # FILE: a program, or an archive that holds one
  program=$1
  case $1 in
    *.tar.gz | *.tgz)
      { have tar && have gzip; } ||
        fail "tar and gzip are not here to unpack perftrail: install them in a step before, or give the address of the program itself"
      tar -xzf "$1" -C "$load" perftrail 2>/dev/null || tar -xzf "$1" -C "$load" ./perftrail 2>/dev/null ||
        fail "${1##*/} is no archive that holds the program perftrail"
      program=$load/perftrail
      ;;
  esac
  { [ -f "$program" ] && [ -r "$program" ]; } || fail "$program is no file that can be read"
  check_program "$program"
  { cp "$program" "$bin/perftrail" && chmod 755 "$bin/perftrail"; } || fail "the program could not be written to $bin"
}

of_release() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) target=x86_64-unknown-linux-musl ;;
    Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
    *) fail "there is no release for $(uname -s) $(uname -m): build perftrail and give the input path" ;;
  esac
  own=''
  [ ! -f "$here/../Cargo.toml" ] || own=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../Cargo.toml" | head -n 1)
  version=${PERFTRAIL_SETUP_VERSION:-$own}
  version=${version#v}
  [ -n "$version" ] || fail "the action does not tell its own version: give the input version"
  case $version in *[!0-9A-Za-z.+-]*) fail "the version has a character that no version has" ;; esac
  file=perftrail-$target.tar.gz
  release=$server/$repository/releases/download/v$version
  advice="is there a release v$version? Name one in the input version, or give url or path"
  fetch "$release/$file" "$load/$file" || fail "$release/$file could not be downloaded: $advice"
  # What belongs to this action brings its own sums: whoever pins the action pins the program.
  sums=$here/SHA256SUMS
  if [ "$version" != "$own" ] || [ ! -f "$sums" ]; then
    sums=$load/SHA256SUMS
    fetch "$release/SHA256SUMS" "$sums" || fail "$release/SHA256SUMS could not be downloaded: $advice"
  fi
  expected=${PERFTRAIL_SETUP_SHA256:-$(sum_in "$sums" "$file")}
  [ -n "$expected" ] || fail "SHA256SUMS of the release does not name $file"
  check_sum "$load/$file" "$expected"
  check_attestation "$load/$file"
  place "$load/$file"
}

if ! bin=$(mktemp -d "$temp/perftrail-bin-XXXXXX") || ! load=$(mktemp -d "$temp/perftrail-load-XXXXXX"); then
  fail "nothing can be written to $temp: give that folder to the user of this job, $(id -un 2>/dev/null || id -u)"
fi

version=''
if [ -n "${PERFTRAIL_SETUP_PATH:-}" ]; then
  [ -f "$PERFTRAIL_SETUP_PATH" ] || fail "there is no file $PERFTRAIL_SETUP_PATH (seen from $PWD)"
  [ -z "${PERFTRAIL_SETUP_SHA256:-}" ] || check_sum "$PERFTRAIL_SETUP_PATH" "$PERFTRAIL_SETUP_SHA256"
  place "$PERFTRAIL_SETUP_PATH"
elif [ -n "${PERFTRAIL_SETUP_URL:-}" ]; then
  case ${PERFTRAIL_SETUP_URL%%[?#]*} in *.tar.gz | *.tgz) file=perftrail.tar.gz ;; *) file=perftrail.bin ;; esac
  fetch "$PERFTRAIL_SETUP_URL" "$load/$file" || fail "$PERFTRAIL_SETUP_URL could not be downloaded"
  if [ -n "${PERFTRAIL_SETUP_SHA256:-}" ]; then
    check_sum "$load/$file" "$PERFTRAIL_SETUP_SHA256"
  else
    tell warning "no sha256 was given: the download is used as it came"
  fi
  place "$load/$file"
else
  of_release
fi

said=$("$bin/perftrail" --version 2>"$load/why") ||
  fail "the program does not run on this machine (may programs run from $temp?): $(head -n 1 "$load/why")"
case $said in
  "perftrail "*[!0-9A-Za-z.+-]*) fail "the program is not perftrail: it says $said" ;;
  "perftrail "*) ;;
  *) fail "the program is not perftrail: it says $said" ;;
esac
[ -z "$version" ] || [ "$said" = "perftrail $version" ] || fail "the release v$version holds $said: it is not used"
echo "$said in $bin"
if [ -n "${GITHUB_PATH:-}" ]; then
  printf '%s\n' "$bin" >>"$GITHUB_PATH" || fail "the path of later steps cannot be written ($GITHUB_PATH)"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  printf 'version=%s\npath=%s\n' "$said" "$bin/perftrail" >>"$GITHUB_OUTPUT" ||
    fail "the outputs of this step cannot be written ($GITHUB_OUTPUT)"
fi

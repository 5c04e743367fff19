#!/bin/sh
# Installs Fawn from a release: the archive for this machine, checked against SHA256SUMS.
#
#   FAWN_FROM  where the release is: an address (https://...) or a folder. Without it, the folder of this script.
#   FAWN_TO    folder for the program. Without it /usr/local/bin for root, else ~/.local/bin.
set -eu

say() { printf '%s\n' "$*"; }
fail() {
  say "install.sh: $*" >&2
  exit 1
}

system() {
  case $(uname -s) in
    Linux) say linux ;;
    Darwin) say darwin ;;
    *) fail "there is no Fawn for $(uname -s) that this script installs" ;;
  esac
}

processor() {
  case $(uname -m) in
    x86_64 | amd64) say amd64 ;;
    aarch64 | arm64) say arm64 ;;
    *) fail "there is no Fawn for processors of the kind $(uname -m)" ;;
  esac
}

# get FILE brings a file of the release into the working folder.
get() {
  case $from in
    *://*)
      if command -v curl >/dev/null 2>&1; then
        curl -fsSL --retry 2 -o "$work/$1" "$from/$1"
      elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$work/$1" "$from/$1"
      else
        fail "curl or wget is needed"
      fi
      ;;
    *) cp "$from/$1" "$work/$1" ;;
  esac || fail "$from/$1 can't be had"
}

digest() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum <"$1"
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 <"$1"
  else
    fail "sha256sum or shasum is needed"
  fi
}

main() {
  kind=$(system)-$(processor) || exit 1
  from=${FAWN_FROM:-}
  if [ -z "$from" ]; then # unless it came through a pipe
    from=$(dirname "$0")
    [ -f "$from/SHA256SUMS" ] || fail "set FAWN_FROM to where the release is: an address or a folder"
  fi
  from=${from%/}
  to=${FAWN_TO:-}
  if [ -z "$to" ]; then
    if [ "$(id -u)" = 0 ]; then to=/usr/local/bin; else to=$HOME/.local/bin; fi
  fi

  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  get SHA256SUMS
  archive=$(sed -n "s/^[0-9a-f]\{64\} [ *]\(fawn-[A-Za-z0-9._+-]*-$kind\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS")
  [ -n "$archive" ] || fail "this release has nothing for $kind"
  [ "$(say "$archive" | wc -l)" -eq 1 ] || fail "SHA256SUMS names more than one archive for $kind"
  get "$archive"
  want=$(awk -v name="$archive" '{ sub(/^\*/, "", $2); if ($2 == name) print $1 }' "$work/SHA256SUMS")
  have=$(digest "$work/$archive" | cut -d' ' -f1)
  [ "$want" = "$have" ] || fail "the checksum of $archive is wrong: it was changed or cut off on its way"

  tar -xzf "$work/$archive" -C "$work"
  mkdir -p "$to"
  # A program that runs can't be written to, but it can be replaced.
  cp "$work/${archive%.tar.gz}/fawn" "$to/.fawn.new.$$"
  chmod 755 "$to/.fawn.new.$$"
  mv -f "$to/.fawn.new.$$" "$to/fawn"
  version=$("$to/fawn" version) || fail "$to/fawn doesn't run on this machine"
  say "Installed $to/fawn: $version"
  case :$PATH: in
    *:"$to":*) say "Start it with: fawn serve" ;;
    *) say "Start it with: $to/fawn serve" ;;
  esac
}

main "$@"

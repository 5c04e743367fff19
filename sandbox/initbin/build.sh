#!/bin/sh
# Builds the sandbox's first process for the processors that Fawn is released for, with the toolchain named in the file
# toolchain, so that the same sources give the same bytes everywhere. A file with the same program in it stays.
set -eu
cd "$(dirname "$0")"
GOTOOLCHAIN=$(cat toolchain) CGO_ENABLED=0 GOOS=linux GOFLAGS="" GOAMD64=v1 GOARM64=v8.0
export GOTOOLCHAIN CGO_ENABLED GOOS GOFLAGS GOAMD64 GOARM64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for arch in amd64 arm64; do
  GOARCH=$arch go build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o "$work/program" ../sbxinit
  file=sbxinit_linux_$arch.gz
  if [ -f "$file" ] && gzip -dc "$file" | cmp -s - "$work/program"; then continue; fi
  gzip -9nc "$work/program" >"$file"
done

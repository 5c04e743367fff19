#!/bin/sh
# Puts the file system of the image together in a new folder: what commands in the sandbox find beside Fawn.
# That is bash with its libraries, the common tools as one program (busybox), and the certificates of authorities.
# It takes them from the Debian that it runs on: busybox-static and ca-certificates must be installed.
set -eu
root=$1
mkdir -p "$root"/etc/ssl/certs "$root"/usr/bin "$root"/usr/lib "$root"/usr/lib64 "$root"/tmp "$root"/dev "$root"/proc "$root"/sys
for dir in bin lib lib64; do ln -s usr/$dir "$root/$dir"; done
ln -s usr/bin "$root/sbin"
chmod 1777 "$root/tmp"

cp "$(readlink -f "$(command -v bash)")" "$root/usr/bin/bash"
ldd "$root/usr/bin/bash" | grep -o '/[^ ]*' | while read -r lib; do
  mkdir -p "$root$(dirname "$lib")"
  cp -L "$lib" "$root$lib"
done
busybox=$(command -v busybox)
cp "$busybox" "$root/usr/bin/busybox"
for tool in $("$busybox" --list); do
  case $tool in
    bash | busybox | sh) ;;
    *) ln -s busybox "$root/usr/bin/$tool" ;;
  esac
done
ln -s bash "$root/usr/bin/sh"

cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
printf 'root:x:0:0::/:/usr/bin/false\nfawn:x:65532:65532::/data:/usr/bin/bash\n' >"$root/etc/passwd"
printf 'root:x:0:\nfawn:x:65532:\n' >"$root/etc/group"
cp /etc/os-release "$root/etc/os-release" # where the programs come from, for who looks for known holes in them

#!/bin/sh
# A USB stick from which the BIOS of a PC starts Linux. Needs no root.
set -eu

# stick/ has syslinux.cfg, vmlinuz and initrd.img. A megabyte stays free for the loader.
mkfatimg --from stick --free 1M --label STICK stick.img

# Puts its code into the boot sector, and ldlinux.sys and ldlinux.c32 into the root directory.
syslinux --install stick.img

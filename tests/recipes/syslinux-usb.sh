#!/bin/sh
# A USB stick from which the BIOS of a PC starts Linux. Needs no root.
set -eu

# stick/ has syslinux.cfg, vmlinuz and initrd.img. A megabyte stays free for the loader. The code
# before the table starts the partition, which is active for that.
mkfatimg --from stick --free 1M --label STICK \
  --profile usb --mbr-code /usr/lib/syslinux/mbr/mbr.bin stick.img

# Puts its code into the boot sector of the partition at 1 MiB, and ldlinux.sys and ldlinux.c32 into
# the root directory.
syslinux --offset 1048576 --install stick.img

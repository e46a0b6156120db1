#!/bin/sh
set -eu
makefs -t msdos -s 64m -T 1709208000 \
  -o fat_type=16,volume_label=DATA,volume_id=0x1234abcd,sectors_per_cluster=8 data.img rootfs

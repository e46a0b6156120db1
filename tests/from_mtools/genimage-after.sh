#!/bin/sh
set -eu
mkfatimg \
  --from input/zImage:/ --from input/board.dtb:/ \
  --from input/extlinux.conf:/extlinux/ \
  --size 32M --fat-type 16 --label BOOT --volume-id 1234abcd boot.vfat

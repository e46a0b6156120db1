#!/bin/sh
set -eu
mkfatimg --from rootfs --size 64M --mtime @1709208000 \
  --fat-type 16 --label DATA --volume-id 1234abcd --cluster-size 4K data.img

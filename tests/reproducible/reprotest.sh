#!/bin/sh
# Builds the image of ./tree twice, the second time with another clock, zone, locale, umask, path,
# order of files, home, host name, kernel name and number of processors, and compares.
set -eu
reprotest --no-diffoscope --min-cpus 2 --variations=+all,-user_group \
  --build-command 'mkfatimg --from tree --label TREE tree.img' . tree.img

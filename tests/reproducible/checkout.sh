#!/bin/sh
# Every file of a checkout has the time of the checkout. The commit's own time, as the latest that is
# stored, makes two checkouts one.
set -eu
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
mkfatimg --from tree --label TREE tree.img
sha256sum tree.img

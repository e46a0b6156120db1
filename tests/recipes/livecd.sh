#!/bin/sh
# A live system that installs without a network: boot files, root file system, and a repository
# of packages and container images. Makes live.img and live.img.bmap.
set -eu

# The time of the release. Files that are newer get it, so the next build has the same bytes.
SOURCE_DATE_EPOCH=$(date -u -d 2026-11-30 +%s)
export SOURCE_DATE_EPOCH

# live/ is what the stick begins with: EFI/BOOT/BOOTX64.EFI, boot/, live/rootfs.squashfs.
# What the mirroring tools leave lying about stays out. The installer finds its room in --free,
# for logs and answers. The second source goes below /repository, the third is a single file.
mkfatimg \
  --from live \
  --from mirror:/repository \
  --from keys/archive.gpg:/repository/ \
  --exclude-from livecd.exclude \
  --fat-type 32 --label LIVE --free 64M \
  --digest sha256 --bmap live.img.bmap \
  live.img

# To a stick, in the time that its contents take (and not its free room):
#   bmaptool copy live.img /dev/sdX

#!/bin/sh
# A live system that installs without a network: boot files, root file system, and a repository
# of packages and container images. Makes the stick live.img, and live.img.bmap.
set -eu

# The time of the release. Files that are newer get it, so the next build has the same bytes.
SOURCE_DATE_EPOCH=$(date -u -d 2026-11-30 +%s)
export SOURCE_DATE_EPOCH

# Firmware starts this program by its name alone. It has inside what finds the volume, wherever that
# lies, by the id that it gets below; the menu is read from there.
mkdir -p efi/EFI/BOOT
grub-mkimage --format x86_64-efi --prefix /boot/grub --config livecd-grub.cfg \
  --output efi/EFI/BOOT/BOOTX64.EFI \
  fat part_gpt part_msdos search_fs_uuid normal linux all_video

# live/ is what the stick begins with: boot/vmlinuz, boot/initrd.img, live/rootfs.squashfs.
# What the mirroring tools leave lying about stays out. The installer finds its room in --free,
# for logs and answers. mirror/ goes below /repository; the last two are single files.
mkfatimg \
  --from efi \
  --from live \
  --from mirror:/repository \
  --from keys/archive.gpg:/repository/ \
  --from livecd-menu.cfg:/boot/grub/grub.cfg \
  --exclude-from livecd.exclude \
  --profile usb --fat-type 32 \
  --label LIVE --volume-id 2026-1130 --free 64M \
  --digest sha256 --bmap live.img.bmap \
  live.img

# To a stick, in the time that its contents take (and not its free room):
#   bmaptool copy live.img /dev/sdX

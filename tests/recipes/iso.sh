#!/bin/sh
# A CD from which UEFI firmware starts a live system; the same file on a stick boots as well.
set -eu

# The time of the release, which xorriso takes too: for times, and for the ids of its tables.
SOURCE_DATE_EPOCH=$(date -u -d 2026-11-30 +%s)
export SOURCE_DATE_EPOCH

# As on the stick. GRUB is not told which part of a CD it was started from: it needs the id.
mkdir -p efi/EFI/BOOT
grub-mkimage --format x86_64-efi --prefix /boot/grub --config livecd-grub.cfg \
  --output efi/EFI/BOOT/BOOTX64.EFI \
  fat part_gpt part_msdos search_fs_uuid normal linux all_video

# All that is there before the system can read the CD by itself; what is too large to be started from a
# CD is refused.
mkfatimg --from efi --from live/boot:/boot --from livecd-menu.cfg:/boot/grub/grub.cfg \
  --profile el-torito --label LIVE --volume-id 2026-1130 efi.img

# What is large lies in the file system of the CD, which the running system mounts by its label. The
# image comes behind it: El Torito and both partition tables lead to it, and GRUB finds it by them.
rm -f live.iso
xorriso -as mkisofs -quiet -r -V LIVE_CD -o live.iso \
  -append_partition 2 0xef efi.img -appended_part_as_gpt \
  -e --interval:appended_partition_2:all:: -no-emul-boot \
  -graft-points /live=live/live /repository=mirror

# To a disc, or to a stick:
#   xorriso -as cdrecord dev=/dev/sr0 live.iso
#   cp live.iso /dev/sdX

#!/bin/sh
# A disk with a GPT and an EFI system partition, which holds GRUB and a kernel.
set -eu

# One program that has its configuration inside; firmware starts it by its name alone.
mkdir -p esp/EFI/BOOT
grub-mkstandalone --format x86_64-efi --modules 'part_gpt search' \
  --output esp/EFI/BOOT/BOOTX64.EFI boot/grub/grub.cfg=esp-grub.cfg

# FAT32 and the partition's type are the profile's. 262 MiB are enough for it with sectors of 4096 bytes
# too.
mkfatimg --from esp --from vmlinuz:/ --from initrd.img:/ \
  --profile esp --partition-table gpt \
  --size 262M --label EFI --volume-id E5B0-0001 disk.img

#!/bin/sh
# An EFI system partition with GRUB and a kernel, and a disk with a GPT that holds it.
set -eu

# One program that has its configuration inside; firmware starts it by its name alone.
mkdir -p esp/EFI/BOOT
grub-mkstandalone --format x86_64-efi --output esp/EFI/BOOT/BOOTX64.EFI boot/grub/grub.cfg=grub.cfg

# FAT32 as firmware wants it on fixed disks. The partition will begin 2048 sectors into the disk.
mkfatimg --from esp --from vmlinuz:/ --from initrd.img:/ \
  --size 260M --fat-type 32 --label EFI --hidden-sectors 2048 esp.img

# A disk of 1 MiB, the partition, and 1 MiB for the second table at the end. It is new each time: dd
# leaves out zeros.
rm -f disk.img
truncate --size 262M disk.img
echo 'start=2048, size=260MiB, type=uefi' | sfdisk --quiet --label gpt disk.img
dd if=esp.img of=disk.img bs=1M seek=1 conv=notrunc,sparse status=none

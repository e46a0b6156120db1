#!/bin/sh
# The boot partition of a Raspberry Pi, and a card that begins with it.
set -eu

# firmware/ is as it comes: bootcode.bin, start*.elf, fixup*.dat, *.dtb, overlays/. What is in
# config/, config.txt and cmdline.txt, replaces files of the same names.
# FAT32 with four sectors a cluster, as on the official cards; the label becomes BOOTFS.
mkfatimg --from firmware --from config --overlay --from kernel8.img:/ \
  --size 256M --fat-type 32 --cluster-size 2K --label bootfs --hidden-sectors 8192 boot.img

# An MBR with type 0c, the only table that boards before the 4 read. The id is fixed, so the root
# file system is PARTUUID=4d4b4641-02 in cmdline.txt, and the card is the same in each build.
rm -f card.img
truncate --size 260M card.img
printf '%s\n' 'label-id: 0x4d4b4641' 'start=8192, size=256MiB, type=c, bootable' |
  sfdisk --quiet --label dos card.img
dd if=boot.img of=card.img bs=4M seek=1 conv=notrunc,sparse status=none

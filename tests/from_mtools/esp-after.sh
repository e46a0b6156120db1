#!/bin/sh
set -eu
mkfatimg \
  --from systemd-bootx64.efi:/EFI/BOOT/BOOTX64.EFI \
  --from loader.conf:/loader/ \
  --from entries:/loader/entries \
  --from vmlinuz:/ --from initrd.img:/ \
  --exclude '/loader/entries/*.bak' --attr '/loader/loader.conf=+rh' \
  --size 64M --fat-type 32 --label ESP --volume-id 1234abcd esp.img

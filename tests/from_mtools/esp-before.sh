#!/bin/sh
set -eu
rm -f esp.img
mkfs.fat -C -F 32 -n ESP -i 1234abcd esp.img 65536
mmd -i esp.img ::/EFI ::/EFI/BOOT ::/loader ::/loader/entries
mcopy -i esp.img -m systemd-bootx64.efi ::/EFI/BOOT/BOOTX64.EFI
mcopy -i esp.img -m loader.conf ::/loader/loader.conf
mcopy -i esp.img -m -s entries/*.conf ::/loader/entries
mcopy -i esp.img -m vmlinuz initrd.img ::/
mattrib -i esp.img +r +h ::/loader/loader.conf

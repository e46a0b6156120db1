#!/bin/sh
# A bootable 1.44 MB floppy of FreeDOS, with the layout that its drive and BIOS expect.
set -eu

# dos/ has KERNEL.SYS, COMMAND.COM, FDAUTO.BAT and folders of tools. fat12.bin is the boot sector
# from FreeDOS: its code is taken, the parameters of the volume are those of this floppy.
# DOS text files end in \r\n; they are stored as they are.
mkfatimg --from dos --size 1440K --label FREEDOS \
  --boot-code fat12.bin --attr 'KERNEL.SYS=+rhs' --attr '*.BAT=+r' floppy.img

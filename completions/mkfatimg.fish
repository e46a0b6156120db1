complete -c mkfatimg -l from -d 'Directory whose contents go in, a file with a place for it, or an mtree manifest' -r -F
complete -c mkfatimg -l exclude -d 'Leave out what matches at its path in the image; repeat it for more' -r -f
complete -c mkfatimg -l exclude-from -d 'Leave out what matches a pattern of a file, one a line; - for standard input' -r -F
complete -c mkfatimg -l symlinks -d 'What to do with symbolic links' -r -f -a "follow\t'Store what they lead to inside the source; absolute links start there, as in a chroot'
host\t'Store what they lead to on the host'
skip\t'Leave them out'
error\t'Refuse'"
complete -c mkfatimg -l dangling -d 'What to do with links that lead nowhere, out of the source, or in a circle' -r -f -a "error\t'Refuse'
skip\t'Leave them out'"
complete -c mkfatimg -l special -d 'What to do with FIFOs, sockets and devices; they are never opened' -r -f -a "error\t'Refuse'
skip\t'Leave them out'"
complete -c mkfatimg -l invalid-names -d 'What to do with names that FAT cannot hold' -r -f -a "error\t'Refuse'
replace\t'Store each character that cannot stand as _'
skip\t'Leave them out'"
complete -c mkfatimg -l clash -d 'What to do with names that differ in case or normalisation only, which are one to FAT' -r -f -a "error\t'Refuse'
skip\t'Leave the later one out'
rename\t'Store the later one as name~2.ext'"
complete -c mkfatimg -l long-names -d 'When a name that fits 8.3 gets a long name beside it' -r -f -a "auto\t'Only when it mixes capital and small letters'
always\t'Whenever it has small letters, for firmware that shows short names in capitals'"
complete -c mkfatimg -l attr -d 'Set (+) or remove (-) attributes of what matches: read-only, hidden, system, archive' -r -f
complete -c mkfatimg -l size -d 'Size of the image to the byte; auto is as small as the default clusters allow [default: auto]' -r -f
complete -c mkfatimg -l free -d 'Room that stays free: bytes, or a percentage such as 10%' -r -f
complete -c mkfatimg -l profile -d 'Make it for one consumer, and refuse what that one does not read' -r -f -a "esp\t'EFI system partition: FAT32, bare or in a table that is asked for'
raspberry-pi\t'Card from which any Raspberry Pi starts'
sd-card\t'Memory card as the SD Association lays it out, up to 32G'
usb\t'Stick for any system'
floppy-360\t'Floppy of 5.25 inches, double density'
floppy-720\t'Floppy of 3.5 inches, double density'
floppy-1200\t'Floppy of 5.25 inches, high density'
floppy-1440\t'Floppy of 3.5 inches, high density'
floppy-2880\t'Floppy of 3.5 inches, extra density'
el-torito\t'EFI image in a CD: bare, FAT12 or FAT16, below 32M'
u-boot\t'Card or stick that U-Boot reads'"
complete -c mkfatimg -l fat-type -d 'FAT type; by default the one that suits the size' -r -f -a "12\t''
16\t''
32\t''"
complete -c mkfatimg -l cluster-size -d 'Bytes of a cluster, 512 to 64K; by default 4K or more wherever legal' -r -f
complete -c mkfatimg -l sector-size -d 'Bytes of a sector: 512, 1024, 2048 or 4096 [default: 512]' -r -f
complete -c mkfatimg -l fats -d 'Copies of the FAT, 1 or 2 [default: 2]' -r -f
complete -c mkfatimg -l root-entries -d 'Entries of the root directory of FAT12 and FAT16; by default 512, or what the source needs' -r -f
complete -c mkfatimg -l reserved-sectors -d 'Sectors before the first FAT, exactly; by default 1, on FAT32 32, and what alignment needs' -r -f
complete -c mkfatimg -l align -d 'Boundary in the image on which the clusters begin; by default 4K for clusters of 4K or more' -r -f
complete -c mkfatimg -l label -d 'Volume label, up to 11 characters' -r -f
complete -c mkfatimg -l volume-id -d 'Volume serial number, eight hexadecimal digits, or random; by default derived from the source' -r -f
complete -c mkfatimg -l oem-name -d 'OEM name in the boot sector, up to 8 characters [default: MSWIN4.1]' -r -f
complete -c mkfatimg -l media -d 'Media byte in hexadecimal: F0 or F8 to FF [default: F8]' -r -f
complete -c mkfatimg -l heads -d 'Heads, for old boot code, 1 to 255' -r -f
complete -c mkfatimg -l sectors-per-track -d 'Sectors per track, for old boot code, 1 to 63' -r -f
complete -c mkfatimg -l hidden-sectors -d 'Sectors before the volume on the disk that it is meant for [default: 0]' -r -f
complete -c mkfatimg -l boot-code -d 'Boot sector whose code goes into ours, up to 512 bytes' -r -F
complete -c mkfatimg -l partition-table -d 'Make a whole disk: a partition table of that kind, with the volume as its only partition' -r -f -a "none\t'The volume alone, whatever the profile has; for a table that something else makes'
mbr\t'Four entries in the first sector; for BIOS, Raspberry Pi and whatever is old'
gpt\t'The table of UEFI, with a backup at the end'"
complete -c mkfatimg -l partition-start -d 'Where the partition begins in the image [default: 1M]' -r -f
complete -c mkfatimg -l partition-type -d 'What the table says that the partition holds: esp, fat, a byte for MBR, a GUID for GPT' -r -f
complete -c mkfatimg -l partition-label -d 'Name of the partition in a GPT, up to 36 characters; by default that of the volume' -r -f
complete -c mkfatimg -l disk-id -d 'Name of the disk: eight hexadecimal digits for MBR, a GUID for GPT, or random; by default derived' -r -f
complete -c mkfatimg -l mbr-code -d 'Code that a BIOS starts, up to 440 bytes and the rest of the sector' -r -F
complete -c mkfatimg -l timezone -d 'Time zone of the stored times, which FAT does not record: UTC, local, Europe/Berlin, +02:00' -r -f
complete -c mkfatimg -l mtime -d 'One time for everything: @SECONDS, 2024-02-29, 2024-02-29T12:00:00, 2024-02-29T12:00:00Z' -r -f
complete -c mkfatimg -l into -d 'Replace the volume in a disk image that is there, in partition N or at a byte' -r -F
complete -c mkfatimg -l jobs -d 'Threads that scan, read and write at once, 1 to 256; by default one for each processor, up to 4' -r -f
complete -c mkfatimg -l direct -d 'When to write past the page cache: at the disk\'s pace, with little of the processor\'s time' -r -f -a "auto\t'When more is written than the system keeps in memory before it turns to the disk'
always\t'Wherever the file system lets us'
never\t'Not at all'"
complete -c mkfatimg -l depfile -d 'Write what the image depends on as a rule for make and ninja' -r -F
complete -c mkfatimg -l map -d 'Write where each file lies, in the image and on the disk, as JSON' -r -F
complete -c mkfatimg -l bmap -d 'Write a block map, version 2.0, for bmaptool' -r -F
complete -c mkfatimg -l digest -d 'Print the digest of the image, made while it is written, as sha256sum does' -r -f -a "sha256\t'SHA-256'"
complete -c mkfatimg -l progress -d 'When to show progress; auto is on a terminal' -r -f -a "auto\t'On a terminal'
always\t'Everywhere'
never\t'Nowhere'"
complete -c mkfatimg -l overlay -d 'Let a later source\'s file replace an earlier one\'s instead of refusing'
complete -c mkfatimg -l windows-safe -d 'Refuse names that Windows takes for devices, such as con and nul.txt'
complete -c mkfatimg -l keep-readonly -d 'Make files read-only that their owner may not write'
complete -c mkfatimg -l if-changed -d 'Leave an image that would come out with the same bytes as it is, its time too'
complete -c mkfatimg -l sync -d 'End only when the image is on the disk'
complete -c mkfatimg -l preallocate -d 'Reserve room for the whole image first instead of leaving holes'
complete -c mkfatimg -l verify -d 'Read the finished image back with an independent reader and compare it with the source'
complete -c mkfatimg -l force -d 'Overwrite a block device, or what is no FAT volume (--into); image files are replaced without it'
complete -c mkfatimg -l dry-run -d 'Show the layout of the image and write nothing'
complete -c mkfatimg -l json -d 'Report as one JSON document on standard output'
complete -c mkfatimg -s q -l quiet -d 'No summary and no notices, only errors'
complete -c mkfatimg -s v -l verbose -d 'Every notice, and what was decided'
complete -c mkfatimg -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mkfatimg -s V -l version -d 'Print version'

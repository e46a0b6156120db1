
use builtin;
use str;

set edit:completion:arg-completer[mkfatimg] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'mkfatimg'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'mkfatimg'= {
            cand --from 'Directory whose contents go in, a file with a place for it, or an mtree manifest'
            cand --exclude 'Leave out what matches at its path in the image; repeat it for more'
            cand --exclude-from 'Leave out what matches a pattern of a file, one a line; - for standard input'
            cand --symlinks 'What to do with symbolic links'
            cand --dangling 'What to do with links that lead nowhere, out of the source, or in a circle'
            cand --special 'What to do with FIFOs, sockets and devices; they are never opened'
            cand --invalid-names 'What to do with names that FAT cannot hold'
            cand --clash 'What to do with names that differ in case or normalisation only, which are one to FAT'
            cand --long-names 'When a name that fits 8.3 gets a long name beside it'
            cand --attr 'Set (+) or remove (-) attributes of what matches: read-only, hidden, system, archive'
            cand --size 'Size of the image to the byte; auto is as small as the default clusters allow [default: auto]'
            cand --free 'Room that stays free: bytes, or a percentage such as 10%'
            cand --profile 'Make it for one consumer, and refuse what that one does not read'
            cand --fat-type 'FAT type; by default the one that suits the size'
            cand --cluster-size 'Bytes of a cluster, 512 to 64K; by default 4K or more wherever legal'
            cand --sector-size 'Bytes of a sector: 512, 1024, 2048 or 4096 [default: 512]'
            cand --fats 'Copies of the FAT, 1 or 2 [default: 2]'
            cand --root-entries 'Entries of the root directory of FAT12 and FAT16; by default 512, or what the source needs'
            cand --reserved-sectors 'Sectors before the first FAT, exactly; by default 1, on FAT32 32, and what alignment needs'
            cand --align 'Boundary in the image on which the clusters begin; by default 4K for clusters of 4K or more'
            cand --label 'Volume label, up to 11 characters'
            cand --volume-id 'Volume serial number, eight hexadecimal digits, or random; by default derived from the source'
            cand --oem-name 'OEM name in the boot sector, up to 8 characters [default: MSWIN4.1]'
            cand --media 'Media byte in hexadecimal: F0 or F8 to FF [default: F8]'
            cand --heads 'Heads, for old boot code, 1 to 255'
            cand --sectors-per-track 'Sectors per track, for old boot code, 1 to 63'
            cand --hidden-sectors 'Sectors before the volume on the disk that it is meant for [default: 0]'
            cand --boot-code 'Boot sector whose code goes into ours, up to 512 bytes'
            cand --partition-table 'Make a whole disk: a partition table of that kind, with the volume as its only partition'
            cand --partition-start 'Where the partition begins in the image [default: 1M]'
            cand --partition-type 'What the table says that the partition holds: esp, fat, a byte for MBR, a GUID for GPT'
            cand --partition-label 'Name of the partition in a GPT, up to 36 characters; by default that of the volume'
            cand --disk-id 'Name of the disk: eight hexadecimal digits for MBR, a GUID for GPT, or random; by default derived'
            cand --mbr-code 'Code that a BIOS starts, up to 440 bytes and the rest of the sector'
            cand --timezone 'Time zone of the stored times, which FAT does not record: UTC, local, Europe/Berlin, +02:00'
            cand --mtime 'One time for everything: @SECONDS, 2024-02-29, 2024-02-29T12:00:00, 2024-02-29T12:00:00Z'
            cand --into 'Replace the volume in a disk image that is there, in partition N or at a byte'
            cand --jobs 'Threads that scan, read and write at once, 1 to 256; by default one for each processor, up to 4'
            cand --direct 'When to write past the page cache: at the disk''s pace, with little of the processor''s time'
            cand --depfile 'Write what the image depends on as a rule for make and ninja'
            cand --map 'Write where each file lies, in the image and on the disk, as JSON'
            cand --bmap 'Write a block map, version 2.0, for bmaptool'
            cand --digest 'Print the digest of the image, made while it is written, as sha256sum does'
            cand --progress 'When to show progress; auto is on a terminal'
            cand --overlay 'Let a later source''s file replace an earlier one''s instead of refusing'
            cand --windows-safe 'Refuse names that Windows takes for devices, such as con and nul.txt'
            cand --keep-readonly 'Make files read-only that their owner may not write'
            cand --if-changed 'Leave an image that would come out with the same bytes as it is, its time too'
            cand --sync 'End only when the image is on the disk'
            cand --preallocate 'Reserve room for the whole image first instead of leaving holes'
            cand --verify 'Read the finished image back with an independent reader and compare it with the source'
            cand --force 'Overwrite a block device, or what is no FAT volume (--into); image files are replaced without it'
            cand --dry-run 'Show the layout of the image and write nothing'
            cand --json 'Report as one JSON document on standard output'
            cand -q 'No summary and no notices, only errors'
            cand --quiet 'No summary and no notices, only errors'
            cand -v 'Every notice, and what was decided'
            cand --verbose 'Every notice, and what was decided'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
    ]
    $completions[$command]
}


using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'mkfatimg' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'mkfatimg'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'mkfatimg' {
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Directory whose contents go in, a file with a place for it, or an mtree manifest')
            [CompletionResult]::new('--exclude', '--exclude', [CompletionResultType]::ParameterName, 'Leave out what matches at its path in the image; repeat it for more')
            [CompletionResult]::new('--exclude-from', '--exclude-from', [CompletionResultType]::ParameterName, 'Leave out what matches a pattern of a file, one a line; - for standard input')
            [CompletionResult]::new('--symlinks', '--symlinks', [CompletionResultType]::ParameterName, 'What to do with symbolic links')
            [CompletionResult]::new('--dangling', '--dangling', [CompletionResultType]::ParameterName, 'What to do with links that lead nowhere, out of the source, or in a circle')
            [CompletionResult]::new('--special', '--special', [CompletionResultType]::ParameterName, 'What to do with FIFOs, sockets and devices; they are never opened')
            [CompletionResult]::new('--invalid-names', '--invalid-names', [CompletionResultType]::ParameterName, 'What to do with names that FAT cannot hold')
            [CompletionResult]::new('--clash', '--clash', [CompletionResultType]::ParameterName, 'What to do with names that differ in case or normalisation only, which are one to FAT')
            [CompletionResult]::new('--long-names', '--long-names', [CompletionResultType]::ParameterName, 'When a name that fits 8.3 gets a long name beside it')
            [CompletionResult]::new('--attr', '--attr', [CompletionResultType]::ParameterName, 'Set (+) or remove (-) attributes of what matches: read-only, hidden, system, archive')
            [CompletionResult]::new('--size', '--size', [CompletionResultType]::ParameterName, 'Size of the image to the byte; auto is as small as the default clusters allow [default: auto]')
            [CompletionResult]::new('--free', '--free', [CompletionResultType]::ParameterName, 'Room that stays free: bytes, or a percentage such as 10%')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Make it for one consumer, and refuse what that one does not read')
            [CompletionResult]::new('--fat-type', '--fat-type', [CompletionResultType]::ParameterName, 'FAT type; by default the one that suits the size')
            [CompletionResult]::new('--cluster-size', '--cluster-size', [CompletionResultType]::ParameterName, 'Bytes of a cluster, 512 to 64K; by default 4K or more wherever legal')
            [CompletionResult]::new('--sector-size', '--sector-size', [CompletionResultType]::ParameterName, 'Bytes of a sector: 512, 1024, 2048 or 4096 [default: 512]')
            [CompletionResult]::new('--fats', '--fats', [CompletionResultType]::ParameterName, 'Copies of the FAT, 1 or 2 [default: 2]')
            [CompletionResult]::new('--root-entries', '--root-entries', [CompletionResultType]::ParameterName, 'Entries of the root directory of FAT12 and FAT16; by default 512, or what the source needs')
            [CompletionResult]::new('--reserved-sectors', '--reserved-sectors', [CompletionResultType]::ParameterName, 'Sectors before the first FAT, exactly; by default 1, on FAT32 32, and what alignment needs')
            [CompletionResult]::new('--align', '--align', [CompletionResultType]::ParameterName, 'Boundary in the image on which the clusters begin; by default 4K for clusters of 4K or more')
            [CompletionResult]::new('--label', '--label', [CompletionResultType]::ParameterName, 'Volume label, up to 11 characters')
            [CompletionResult]::new('--volume-id', '--volume-id', [CompletionResultType]::ParameterName, 'Volume serial number, eight hexadecimal digits, or random; by default derived from the source')
            [CompletionResult]::new('--oem-name', '--oem-name', [CompletionResultType]::ParameterName, 'OEM name in the boot sector, up to 8 characters [default: MSWIN4.1]')
            [CompletionResult]::new('--media', '--media', [CompletionResultType]::ParameterName, 'Media byte in hexadecimal: F0 or F8 to FF [default: F8]')
            [CompletionResult]::new('--heads', '--heads', [CompletionResultType]::ParameterName, 'Heads, for old boot code, 1 to 255')
            [CompletionResult]::new('--sectors-per-track', '--sectors-per-track', [CompletionResultType]::ParameterName, 'Sectors per track, for old boot code, 1 to 63')
            [CompletionResult]::new('--hidden-sectors', '--hidden-sectors', [CompletionResultType]::ParameterName, 'Sectors before the volume on the disk that it is meant for [default: 0]')
            [CompletionResult]::new('--boot-code', '--boot-code', [CompletionResultType]::ParameterName, 'Boot sector whose code goes into ours, up to 512 bytes')
            [CompletionResult]::new('--partition-table', '--partition-table', [CompletionResultType]::ParameterName, 'Make a whole disk: a partition table of that kind, with the volume as its only partition')
            [CompletionResult]::new('--partition-start', '--partition-start', [CompletionResultType]::ParameterName, 'Where the partition begins in the image [default: 1M]')
            [CompletionResult]::new('--partition-type', '--partition-type', [CompletionResultType]::ParameterName, 'What the table says that the partition holds: esp, fat, a byte for MBR, a GUID for GPT')
            [CompletionResult]::new('--partition-label', '--partition-label', [CompletionResultType]::ParameterName, 'Name of the partition in a GPT, up to 36 characters; by default that of the volume')
            [CompletionResult]::new('--disk-id', '--disk-id', [CompletionResultType]::ParameterName, 'Name of the disk: eight hexadecimal digits for MBR, a GUID for GPT, or random; by default derived')
            [CompletionResult]::new('--mbr-code', '--mbr-code', [CompletionResultType]::ParameterName, 'Code that a BIOS starts, up to 440 bytes and the rest of the sector')
            [CompletionResult]::new('--timezone', '--timezone', [CompletionResultType]::ParameterName, 'Time zone of the stored times, which FAT does not record: UTC, local, Europe/Berlin, +02:00')
            [CompletionResult]::new('--mtime', '--mtime', [CompletionResultType]::ParameterName, 'One time for everything: @SECONDS, 2024-02-29, 2024-02-29T12:00:00, 2024-02-29T12:00:00Z')
            [CompletionResult]::new('--into', '--into', [CompletionResultType]::ParameterName, 'Replace the volume in a disk image that is there, in partition N or at a byte')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'Threads that scan, read and write at once, 1 to 256; by default one for each processor, up to 4')
            [CompletionResult]::new('--direct', '--direct', [CompletionResultType]::ParameterName, 'When to write past the page cache: at the disk''s pace, with little of the processor''s time')
            [CompletionResult]::new('--depfile', '--depfile', [CompletionResultType]::ParameterName, 'Write what the image depends on as a rule for make and ninja')
            [CompletionResult]::new('--map', '--map', [CompletionResultType]::ParameterName, 'Write where each file lies, in the image and on the disk, as JSON')
            [CompletionResult]::new('--bmap', '--bmap', [CompletionResultType]::ParameterName, 'Write a block map, version 2.0, for bmaptool')
            [CompletionResult]::new('--digest', '--digest', [CompletionResultType]::ParameterName, 'Print the digest of the image, made while it is written, as sha256sum does')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress; auto is on a terminal')
            [CompletionResult]::new('--overlay', '--overlay', [CompletionResultType]::ParameterName, 'Let a later source''s file replace an earlier one''s instead of refusing')
            [CompletionResult]::new('--windows-safe', '--windows-safe', [CompletionResultType]::ParameterName, 'Refuse names that Windows takes for devices, such as con and nul.txt')
            [CompletionResult]::new('--keep-readonly', '--keep-readonly', [CompletionResultType]::ParameterName, 'Make files read-only that their owner may not write')
            [CompletionResult]::new('--if-changed', '--if-changed', [CompletionResultType]::ParameterName, 'Leave an image that would come out with the same bytes as it is, its time too')
            [CompletionResult]::new('--sync', '--sync', [CompletionResultType]::ParameterName, 'End only when the image is on the disk')
            [CompletionResult]::new('--preallocate', '--preallocate', [CompletionResultType]::ParameterName, 'Reserve room for the whole image first instead of leaving holes')
            [CompletionResult]::new('--verify', '--verify', [CompletionResultType]::ParameterName, 'Read the finished image back with an independent reader and compare it with the source')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Overwrite a block device, or what is no FAT volume (--into); image files are replaced without it')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show the layout of the image and write nothing')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Report as one JSON document on standard output')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'No summary and no notices, only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'No summary and no notices, only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Every notice, and what was decided')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Every notice, and what was decided')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}

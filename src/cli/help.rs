//! What the help says behind the flags, and the manual page with it: each paragraph `Title: text` is
//! a section there, and lines that two blanks begin are a list if two blanks part `term  meaning`.

/// Behind `-h`.
pub(super) const SHORT: &str = "\
Sizes: 5G, 5Gi and 5GiB are 5 x 2^30 bytes, 5GB is 5 x 10^9, a bare number is bytes.
Exit status: 0 done, 1 the system refused, 2 command line, 3 too large, too small or not legal FAT, \
4 the source cannot be read or stored, or changed, 5 the image came out wrong.";

/// Behind `--help`. Lines of lists fit 80 columns: a parser that breaks them knows no indent.
pub(super) const LONG: &str = "\
Sizes: 5G, 5Gi and 5GiB are 5 x 2^30 bytes, 5GB is 5 x 10^9, a bare number is bytes. The units are K, M, \
G and T, small or capital.

Patterns: * and ? stay within a name, ** does not; [a-z], {one,other} and \\ are as in shells; capitals \
differ from small letters. Without / a pattern is of a name anywhere, with one of the whole path from \
the image's root; a / at its end stands for directories only. In a file of patterns each has a line; \
empty lines are passed over, and so are those that begin with #.

Exit status: when several reasons meet, the highest counts.
  0  done
  1  the system refused what the build needs besides its source
  2  the command line makes no sense
  3  a file, a directory or the image is too large, too small or not legal FAT
  4  the source cannot be read, holds what FAT cannot, or changed meanwhile
  5  the finished image was not what was planned, and was thrown away

Environment: variables that are heeded, besides those of terminal and locale.
  SOURCE_DATE_EPOCH  seconds since 1970; newer times are stored as this one
  TZ                 the zone that --timezone local means
  TZDIR              where zones are looked up first
  NO_COLOR           if not empty, nothing on a terminal has colours

Files: an image has no name until it is complete. Where the system has no unnamed files it is called \
.mkfatimg-*.partial beside OUT. Such a file stays when the build is killed by SIGKILL or by a second \
signal, or when the power fails, and may be deleted.
  /usr/share/zoneinfo, /etc/localtime  zones, when --timezone asks for one
  /proc/self/fd                        gives the unnamed file its name
  /proc/self/status                    signals to leave ignored
  /proc/vmstat                         when to write past the page cache

Examples:
  mkfatimg --from rootfs --size 5G live.img
  mkfatimg --from rootfs --free 64M --label DATA data.img
  mkfatimg --from esp --profile esp --partition-table gpt disk.img
  mkfatimg --from rootfs --from vmlinuz:/boot/ - | zstd >live.img.zst
  mkfatimg --from rootfs --size 5G --dry-run";

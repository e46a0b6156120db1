//! What a running build tells whoever watches it. Knows neither terminal nor format.

use std::fmt;
use std::num::NonZeroU32;
use std::path::Path;

use crate::printable;

/// The parts of the work that take time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The source is walked; [`Observer::advance`] counts entries.
    Scan,
    /// The image that is there is compared with the one that would be written;
    /// [`Observer::advance`] counts bytes of `total_bytes`.
    Compare {
        /// Bytes of the image.
        total_bytes: u64,
    },
    /// The image is written; [`Observer::advance`] counts bytes of `total_bytes`.
    Write {
        /// Bytes of the image.
        total_bytes: u64,
    },
    /// The image is compared with its source; [`Observer::advance`] counts bytes of contents.
    Verify {
        /// Bytes of all contents.
        total_bytes: u64,
    },
}

/// An enumeration whose members programs know by name, with all of them and the names in one place.
macro_rules! named {
    ($(#[$about:meta])* pub enum $kind:ident { $($(#[$fact:meta])* $member:ident = $id:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $kind {
            $($(#[$fact])* $member,)+
        }

        impl $kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$member),+];

            /// A name for programs; it stays as it is from version to version.
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$member => $id,)+
                }
            }
        }
    };
}

named! {
    /// Kinds of facts that do not stop a build but that its user should know.
    pub enum NoticeKind {
        /// A symbolic link was left out as asked.
        LinkSkipped = "link-skipped",
        /// A link that leads nowhere, out of the source or in a circle was left out as asked.
        DanglingLinkSkipped = "dangling-link-skipped",
        /// A FIFO, socket or device was left out as asked.
        SpecialFileSkipped = "special-file-skipped",
        /// An entry was left out by a pattern.
        Excluded = "excluded",
        /// A pattern matched nothing.
        PatternUnused = "pattern-unused",
        /// An output of this build lies in the source and was left out.
        OutputLeftOut = "output-left-out",
        /// A later source's file took the place of an earlier one's, as asked.
        FileReplaced = "file-replaced",
        /// An optional entry of a manifest was left out, since its contents are not there.
        OptionalLeftOut = "optional-left-out",
        /// A manifest gives a digest, which is not compared.
        DigestUnchecked = "digest-unchecked",
        /// A manifest has a keyword that is not known.
        KeywordUnknown = "keyword-unknown",
        /// A link stands for a file that lies beside it under a name that FAT takes for the same.
        LinkFolded = "link-folded",
        /// A name was changed as asked.
        NameReplaced = "name-replaced",
        /// An entry with a name that FAT cannot hold was left out as asked.
        NameSkipped = "name-skipped",
        /// The later of two names that FAT takes for one was left out as asked.
        ClashSkipped = "clash-skipped",
        /// The later of two names that FAT takes for one was changed as asked.
        ClashRenamed = "clash-renamed",
        /// Windows takes the name for a device.
        DeviceName = "device-name",
        /// Some firmware cannot open a name that begins with a blank.
        LeadingBlank = "leading-blank",
        /// A time was moved into the range that FAT can store.
        TimeClamped = "time-clamped",
        /// Ninja misreads the name of an input.
        DependencyMisread = "dependency-misread",
        /// The label's small letters were made capital.
        LabelMadeCapital = "label-made-capital",
        /// The root directory was made larger than usual for the tree's sake.
        RootGrown = "root-grown",
        /// The volume is smaller than what some driver mounts.
        FewSectors = "few-sectors",
        /// The tree fills the last cluster, which some boot ROMs cannot read.
        LastClusterUsed = "last-cluster-used",
        /// An EFI system partition that is no FAT32, which is for removable media.
        RemovableOnly = "removable-only",
    }
}

named! {
    /// Kinds of reasons why there is no image, one for each case in which a program would do something
    /// else. The messages tell them apart further.
    pub enum ProblemKind {
        // The command line.
        /// The command line makes no sense: a flag, a value, or flags that do not go together.
        Usage = "usage",
        /// A pattern of paths that is none.
        PatternIllegal = "pattern-illegal",
        /// The size does not end with a sector.
        SizeNotWholeSectors = "size-not-whole-sectors",
        /// The size is more than a volume can have.
        SizeOverLimit = "size-over-limit",
        /// Flags of the format do not go together.
        OptionsDisagree = "options-disagree",

        // What the source holds.
        /// A source, or a file or directory in it, cannot be read.
        Unreadable = "unreadable",
        /// A file was given as a source without a place in the image.
        FileWithoutDestination = "file-without-destination",
        /// A line of a manifest that cannot be understood.
        ManifestIllegal = "manifest-illegal",
        /// What a manifest names is of another kind or size than it says.
        ContentsUnexpected = "contents-unexpected",
        /// A source is an output as well.
        SourceIsOutput = "source-is-output",
        /// Something changed, vanished or was replaced while it was walked or read.
        SourceChanged = "source-changed",
        /// A file tells a size of 0 and has contents.
        SizeUntold = "size-untold",
        /// A FIFO, socket or device.
        SpecialFile = "special-file",
        /// A symbolic link where none may be.
        Link = "link",
        /// A link to what is not there.
        DanglingLink = "dangling-link",
        /// A link that leads out of its source.
        EscapingLink = "escaping-link",
        /// A link that leads in a circle.
        LinkLoop = "link-loop",
        /// Links to directories that multiply the source.
        LinksMultiply = "links-multiply",
        /// Files of two sources come to one place.
        SamePlace = "same-place",
        /// A file of one source and a directory of another come to one place.
        FileAgainstDirectory = "file-against-directory",
        /// More entries than a volume holds.
        TooManyEntries = "too-many-entries",
        /// A name with what FAT cannot hold.
        NameIllegal = "name-illegal",
        /// A name that is not UTF-8.
        NameNotUnicode = "name-not-unicode",
        /// Two names of a directory are one to FAT.
        NameClash = "name-clash",
        /// A name that Windows takes for a device, where such are refused.
        DeviceName = "device-name",
        /// A name that the consumer of the image, by its profile, cannot open.
        NameUnreadable = "name-unreadable",

        // What a volume can hold.
        /// A file of 4 GiB or more.
        FileTooLarge = "file-too-large",
        /// A directory of more than 65,536 records.
        DirectoryTooLarge = "directory-too-large",
        /// The fixed root directory cannot hold the tree's root.
        RootTooSmall = "root-too-small",
        /// The tree does not fit into the size.
        TooSmall = "too-small",
        /// The size is less than any volume has.
        SizeUnderLimit = "size-under-limit",
        /// Type, cluster and size do not go together.
        NoSuchVolume = "no-such-volume",
        /// No size holds the tree.
        NoSize = "no-size",

        // The system.
        /// The output's folder is not there.
        OutputFolderMissing = "output-folder-missing",
        /// The output is no place for an image: a directory, a terminal, a socket, a part of a disk that is not for FAT.
        OutputUnsuitable = "output-unsuitable",
        /// The system refuses to write the output, for a reason that is no kind of its own.
        OutputRefused = "output-refused",
        /// No room, or no more by the quota.
        NoRoom = "no-room",
        /// The file system or a limit of the process allows no file of this size.
        FileSizeLimit = "file-size-limit",
        /// The file system cannot reserve room.
        CannotReserve = "cannot-reserve",
        /// The reader of a stream went away.
        ReaderGone = "reader-gone",
        /// There is not enough memory.
        NoMemory = "no-memory",
        /// The system refused something else.
        System = "system",
        /// A signal, or whoever watches the build, stopped it.
        Stopped = "stopped",

        // The check of the image.
        /// The independent reader cannot read an image of this kind.
        VerifyImpossible = "verify-impossible",
        /// The image cannot be read back.
        ImageUnreadable = "image-unreadable",
        /// The volume is broken in itself.
        ImageBroken = "image-broken",
        /// The image is not the one that was planned.
        ImageNotAsPlanned = "image-not-as-planned",
        /// The bytes of a file are not those of the source.
        ImageContentsDiffer = "image-contents-differ",
        /// The independent reader failed.
        ReaderFailed = "reader-failed",
    }
}

impl NoticeKind {
    /// What happened to all entries of the kind, for a line that also tells how many.
    pub fn summary(self) -> &'static str {
        match self {
            Self::LinkSkipped => "symbolic links left out",
            Self::DanglingLinkSkipped => "links that lead nowhere left out",
            Self::SpecialFileSkipped => "FIFOs, sockets and devices left out",
            Self::Excluded => "entries left out by patterns",
            Self::PatternUnused => "patterns that matched nothing",
            Self::OutputLeftOut => "outputs of this build left out",
            Self::FileReplaced => "files replaced by those of a later source",
            Self::OptionalLeftOut => "optional entries of a manifest left out",
            Self::DigestUnchecked => "kinds of digests in a manifest not compared",
            Self::KeywordUnknown => "keywords of a manifest not known",
            Self::LinkFolded => "links folded into the file of the same name",
            Self::NameReplaced => "names changed to what FAT can hold",
            Self::NameSkipped => "entries left out for their names",
            Self::ClashSkipped => "entries left out for a clash of names",
            Self::ClashRenamed => "entries renamed for a clash of names",
            Self::DeviceName => "names that Windows takes for devices",
            Self::LeadingBlank => "names with a leading blank, which some firmware cannot open",
            Self::TimeClamped => "times moved into the years 1980 to 2107",
            Self::DependencyMisread => "inputs whose names ninja misreads in a depfile",
            Self::LabelMadeCapital => "label made capital",
            Self::RootGrown => "root directory grown",
            Self::FewSectors => "few sectors",
            Self::LastClusterUsed => "no cluster left free",
            Self::RemovableOnly => "for removable media only",
        }
    }
}

/// A fact that does not stop the build. There can be one for each file, so it is kept small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What kind of fact.
    pub kind: NoticeKind,
    /// The line of the file at the path, if it is of one.
    line: Option<NonZeroU32>,
    /// How much of the text is the path.
    path_bytes: u32,
    /// The whole fact as one line, path first where it has one.
    pub text: Box<str>,
}

const _: () = assert!(size_of::<Notice>() <= 32);

impl Notice {
    /// Of the image as a whole.
    pub fn new(kind: NoticeKind, text: String) -> Self {
        Self { kind, line: None, path_bytes: 0, text: text.into() }
    }

    /// Of one file, directory or link.
    pub fn at(path: &Path, kind: NoticeKind, fact: impl fmt::Display) -> Self {
        Self::of(path, kind, format_args!(": {fact}"))
    }

    /// Of a line of a manifest, from 1 on, and of what it names unless that is empty.
    pub fn at_line(
        manifest: &Path,
        line: u32,
        named: &Path,
        kind: NoticeKind,
        fact: impl fmt::Display,
    ) -> Self {
        let named = printable::path(named);
        let colon = if named.is_empty() { "" } else { ": " };
        let rest = format_args!(":{line}: {named}{colon}{fact}");
        Self { line: NonZeroU32::new(line), ..Self::of(manifest, kind, rest) }
    }

    fn of(path: &Path, kind: NoticeKind, rest: fmt::Arguments<'_>) -> Self {
        let path = printable::path(path);
        // A longer path is none that a system could have given.
        let path_bytes = u32::try_from(path.len()).unwrap_or(0);
        Self { path_bytes, ..Self::new(kind, format!("{path}{rest}")) }
    }

    /// The path as in the text, if it is about one; of a line of a manifest the manifest's.
    pub fn path(&self) -> Option<&str> {
        match self.path_bytes {
            0 => None,
            bytes => self.text.get(..usize::try_from(bytes).ok()?),
        }
    }

    /// The line of the manifest that [`Notice::path`] names, from 1 on.
    pub fn line(&self) -> Option<u32> {
        self.line.map(NonZeroU32::get)
    }
}

/// Watches a build. Every method has a default that does nothing; `()` is silence.
pub trait Observer: Sync {
    /// A part of the work begins.
    fn stage(&self, stage: Stage) {
        let _ = stage;
    }

    /// The running part went on by `amount`; called per buffer, not per file.
    fn advance(&self, amount: u64) {
        let _ = amount;
    }

    /// Whether to stop at the next buffer and leave nothing behind.
    fn must_stop(&self) -> bool {
        false
    }
}

impl Observer for () {}

//! What a running build tells whoever watches it. Knows neither terminal nor format.

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

/// Kinds of facts that do not stop a build but that its user should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoticeKind {
    /// A symbolic link was left out as asked.
    LinkSkipped,
    /// A link that leads nowhere, out of the source or in a circle was left out as asked.
    DanglingLinkSkipped,
    /// A FIFO, socket or device was left out as asked.
    SpecialFileSkipped,
    /// An entry was left out by a pattern.
    Excluded,
    /// A pattern matched nothing.
    PatternUnused,
    /// An output of this build lies in the source and was left out.
    OutputLeftOut,
    /// A later source's file took the place of an earlier one's, as asked.
    FileReplaced,
    /// A link stands for a file that lies beside it under a name that FAT takes for the same.
    LinkFolded,
    /// A name was changed as asked.
    NameReplaced,
    /// An entry with a name that FAT cannot hold was left out as asked.
    NameSkipped,
    /// The later of two names that FAT takes for one was left out as asked.
    ClashSkipped,
    /// The later of two names that FAT takes for one was changed as asked.
    ClashRenamed,
    /// Windows takes the name for a device.
    DeviceName,
    /// Some firmware cannot open a name that begins with a blank.
    LeadingBlank,
    /// A time was moved into the range that FAT can store.
    TimeClamped,
    /// Ninja misreads the name of an input.
    DependencyMisread,
    /// The label's small letters were made capital.
    LabelMadeCapital,
    /// The root directory was made larger than usual for the tree's sake.
    RootGrown,
    /// The volume is smaller than what some driver mounts.
    FewSectors,
    /// The tree fills the last cluster, which some boot ROMs cannot read.
    LastClusterUsed,
}

impl NoticeKind {
    /// A name for programs; it stays as it is from version to version.
    pub fn id(self) -> &'static str {
        match self {
            Self::LinkSkipped => "link-skipped",
            Self::DanglingLinkSkipped => "dangling-link-skipped",
            Self::SpecialFileSkipped => "special-file-skipped",
            Self::Excluded => "excluded",
            Self::PatternUnused => "pattern-unused",
            Self::OutputLeftOut => "output-left-out",
            Self::FileReplaced => "file-replaced",
            Self::LinkFolded => "link-folded",
            Self::NameReplaced => "name-replaced",
            Self::NameSkipped => "name-skipped",
            Self::ClashSkipped => "clash-skipped",
            Self::ClashRenamed => "clash-renamed",
            Self::DeviceName => "device-name",
            Self::LeadingBlank => "leading-blank",
            Self::TimeClamped => "time-clamped",
            Self::DependencyMisread => "dependency-misread",
            Self::LabelMadeCapital => "label-made-capital",
            Self::RootGrown => "root-grown",
            Self::FewSectors => "few-sectors",
            Self::LastClusterUsed => "last-cluster-used",
        }
    }

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
        }
    }
}

/// A fact that does not stop the build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What kind of fact.
    pub kind: NoticeKind,
    /// The whole fact as one line, path first where it has one.
    pub text: String,
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

//! Where each file lies, as one JSON document, for loaders, for updates in place and for differences
//! between images. Every file and directory is one run of bytes.

use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::{Report, volume_id_text};
use crate::plan::Plan;
use crate::source::NodeId;

/// The document's version.
pub const SCHEMA: u32 = 1;

/// Writes the map of an image that was written, and the last line's end.
///
/// # Errors
/// Those of `writer`.
pub fn write(report: &Report, writer: &mut dyn Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::pretty(&mut *writer);
    document(report, &mut serializer)?;
    writer.write_all(b"\n")
}

/// Entries go out one by one: there can be a million.
fn document<S: Serializer>(report: &Report, serializer: S) -> Result<S::Ok, S::Error> {
    let plan = &report.plan;
    let entry = |id| Entry::of(plan, id);
    let mut document = serializer.serialize_struct("Map", 9)?;
    document.serialize_field("schema", &SCHEMA)?;
    document.serialize_field("mkfatimg", env!("CARGO_PKG_VERSION"))?;
    document.serialize_field("image", &report.written.as_ref().map(|written| &written.output))?;
    document.serialize_field("image_bytes", &plan.image_bytes())?;
    document.serialize_field("volume_id", &volume_id_text(plan.facts().volume_id))?;
    document.serialize_field("cluster_bytes", &plan.geometry().cluster_bytes())?;
    document.serialize_field("volume_at_disk_byte", &plan.volume_at_disk_byte())?;
    let files = || plan.stored().filter(|id| !plan.tree().node(*id).is_directory());
    document.serialize_field("files", &Each(|| files().map(entry)))?;
    let directories = || plan.stored_directories().filter(|id| *id != NodeId::ROOT);
    document.serialize_field("directories", &Each(|| directories().map(entry)))?;
    document.end()
}

#[derive(Serialize)]
struct Entry {
    path: String,
    /// Of its contents; of a directory all of its clusters.
    bytes: u64,
    /// 0 for an empty file.
    first_cluster: u32,
    clusters: u64,
    /// Its first byte in the image; none of an empty file.
    at_byte: Option<u64>,
    /// Its first byte on the disk.
    at_disk_byte: Option<u64>,
}

impl Entry {
    fn of(plan: &Plan, id: NodeId) -> Self {
        let geometry = plan.geometry();
        let first_cluster = plan.first_cluster(id);
        let at = (first_cluster > 0).then(|| geometry.cluster_at_byte(first_cluster));
        let clusters = plan.clusters(id);
        let bytes = match plan.tree().node(id).is_directory() {
            true => clusters * u64::from(geometry.cluster_bytes()),
            false => plan.tree().node(id).size_bytes(),
        };
        Self {
            path: plan.image_path(id),
            bytes,
            first_cluster,
            clusters,
            at_byte: at.map(|at| at + plan.volume_at_byte()),
            at_disk_byte: at.map(|at| at + plan.volume_at_disk_byte()),
        }
    }
}

/// A sequence that is made while it is written.
struct Each<F>(F);

impl<F, I> Serialize for Each<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

//! The documents: what they link to is there.

use std::fs;
use std::path::Path;

#[test]
fn links_between_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/decisions"] {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        documents.extend(entries.map(|entry| entry.unwrap().path()));
    }
    let mut checked = 0;
    for document in documents.iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = document.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(target.exists(), "{}: {link}", document.display());
            checked += 1;
        }
    }
    assert!(checked > 5);
}

/// Sources that a document or a comment names by path.
#[test]
fn sources_that_documents_name_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut checked = 0;
    for document in [
        "README.md",
        "CONTRIBUTING.md",
        "docs/architecture.md",
        "docs/format.md",
        "docs/verification.md",
        "docs/performance.md",
    ] {
        let text = fs::read_to_string(root.join(document)).unwrap();
        for name in text.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs")) {
            let found =
                ["", "src", "tests"].iter().any(|folder| root.join(folder).join(name).exists());
            assert!(found, "{document}: {name}");
            checked += 1;
        }
    }
    assert!(checked > 15);
}

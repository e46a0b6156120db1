//! Documents held against a published schema by a validator of others.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use serde_json::{Value, json};

use super::{Ran, Tool, skip};

/// Reads `[schema, documents]`, and tells for each document what is wrong with it. Of the branches of
/// the schema it takes the one that the status names.
const JUDGE: &str = r#"
import json, sys
from jsonschema import Draft202012Validator
schema, documents = json.load(sys.stdin)
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
def told(error):
    branches = {}
    for cause in error.context or []:
        branches.setdefault(cause.relative_schema_path[0], []).append(cause)
    meant = [b for b in branches.values() if all(list(c.relative_path) != ["status"] for c in b)]
    for cause in meant[0] if meant else [error]:
        yield "/".join(map(str, cause.absolute_path)) + ": " + cause.message[:300]
json.dump([[t for e in validator.iter_errors(d) for t in told(e)] for d in documents], sys.stdout)
"#;

/// The schema that lies at `path` in the repository.
pub fn of(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// What is wrong with each of `documents`; `None` without a validator.
pub fn judged(schema: &Value, documents: &[Value]) -> Option<Vec<Vec<String>>> {
    let ran = judge(schema, documents)?;
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    Some(serde_json::from_str(&ran.stdout).unwrap())
}

/// The validator's own words on a schema and documents; `None` without one.
pub fn judge(schema: &Value, documents: &[Value]) -> Option<Ran> {
    let python = Tool::find("python3")?;
    if python.run(["-c", "import jsonschema"]).status != Some(0) {
        skip("python3-jsonschema is not installed");
        return None;
    }
    let mut command = python.command();
    command.args(["-c", JUDGE]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let text = serde_json::to_vec(&json!([schema, documents])).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(&text));
    let output = child.wait_with_output().unwrap();
    // A judge that refuses the schema reads no further.
    let _ = writer.join().unwrap();
    Some(output.into())
}

//! The corpus of the fuzzers, through the same checks.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../fuzz/checks.rs"]
pub(crate) mod checks;

#[test]
fn the_corpus_holds_what_every_reading_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut looked_at: Vec<String> = Vec::new();
    for target in entries(&corpus) {
        let name = target.file_name().expect("a name").to_string_lossy().into_owned();
        let files = entries(&target);
        assert!(files.len() > 50, "{name}: {} files", files.len());
        for file in files {
            let bytes = fs::read(&file).expect("a file");
            let looked = std::panic::catch_unwind(|| checks::look(&name, &bytes));
            assert!(looked.is_ok(), "{}", file.display());
        }
        looked_at.push(name);
    }
    let mut targets = checks::TARGETS.map(|(name, _)| name);
    targets.sort_unstable();
    assert_eq!(looked_at, targets);
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = found.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

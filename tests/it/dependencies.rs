//! TLS is rustls with aws-lc-rs alone: nothing else that does TLS may come in by a side door.

use std::process::Command;

/// Crates that must not be in the tree.
const REFUSED: &[&str] = &["native-tls", "openssl-sys", "ring"];

/// Those of `REFUSED` among the lines of `cargo tree --prefix none`.
fn refused(tree: &str) -> Vec<&'static str> {
    let names: Vec<_> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    REFUSED.iter().copied().filter(|refused| names.contains(refused)).collect()
}

#[test]
fn no_other_tls_is_in_the_tree() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-e", "normal,build", "--prefix", "none"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree failed: {errors}");
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(tree.contains("libgit2-sys v"), "this is not our tree:\n{tree}");
    assert_eq!(refused(&tree), [""; 0]);
}

#[test]
fn a_refused_crate_is_seen() {
    assert_eq!(refused("perftrail v0.1.0\nring v0.17.8\nspringring v1.0.0\n"), ["ring"]);
}

//! What the job runs with: interpreters, lock files, variables that bear on speed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use super::files;
use crate::record::{Environment, canonical};

/// Interpreters that are asked for their version, when the path has them.
const INTERPRETERS: [(&str, &str); 5] = [
    ("python3", "--version"),
    ("python", "--version"),
    ("node", "--version"),
    ("julia", "--version"),
    ("Rscript", "--version"),
];

/// Files at the project's root that fix what is installed.
const LOCK_FILES: [&str; 17] = [
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile.lock",
    "pixi.lock",
    "pylock.toml",
    "requirements.txt",
    "requirements.lock",
    "environment.yml",
    "environment.yaml",
    "conda-lock.yml",
    "Cargo.lock",
    "package-lock.json",
    "yarn.lock",
    "Manifest.toml",
    "renv.lock",
    "go.sum",
];

/// Variables that change how fast a program runs.
const VARIABLES: [&str; 22] = [
    "GOMAXPROCS",
    "JULIA_NUM_THREADS",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
    "MALLOC_CONF",
    "MKL_NUM_THREADS",
    "NPY_DISABLE_CPU_FEATURES",
    "NUMBA_DISABLE_JIT",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "PYTHONDEVMODE",
    "PYTHONHASHSEED",
    "PYTHONMALLOC",
    "PYTHONOPTIMIZE",
    "PYTHON_GIL",
    "PYTHON_JIT",
    "VECLIB_MAXIMUM_THREADS",
];

/// A lock file longer than this is not read.
const LOCK_FILE_MAX: u64 = 32 << 20;

/// Describes what a job started in `root` with these variables will find.
pub fn describe(
    root: &Path,
    variables: &[(OsString, OsString)],
    held_back: Vec<String>,
) -> Environment {
    let get = |name: &str| {
        variables
            .iter()
            .find(|(key, _)| key == OsStr::new(name))
            .map(|(_, value)| value.to_string_lossy().into_owned())
    };
    let image = get("ImageOS").map(|system| match get("ImageVersion") {
        Some(version) => format!("{system} {version}"),
        None => system,
    });
    Environment {
        interpreters: interpreters(variables),
        image,
        lock_files: lock_files(root),
        variables: VARIABLES
            .iter()
            .filter_map(|name| get(name).map(|value| ((*name).to_owned(), value)))
            .collect(),
        held_back,
    }
}

fn interpreters(variables: &[(OsString, OsString)]) -> BTreeMap<String, String> {
    INTERPRETERS
        .iter()
        .filter_map(|(program, flag)| {
            version(program, flag, variables).map(|text| ((*program).to_owned(), text))
        })
        .collect()
}

fn version(program: &str, flag: &str, variables: &[(OsString, OsString)]) -> Option<String> {
    let output = Command::new(program)
        .arg(flag)
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()
        .ok()?;
    // Some print their version on stderr.
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.chars().take(100).collect())
}

fn lock_files(root: &Path) -> BTreeMap<String, String> {
    LOCK_FILES
        .iter()
        .filter_map(|name| match files::read_head(&root.join(name), LOCK_FILE_MAX) {
            Ok((bytes, false)) => Some(((*name).to_owned(), canonical::sha256_hex(&bytes))),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_bears_on_speed_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("uv.lock"), "").unwrap();
        let variables = [("OMP_NUM_THREADS", "2"), ("API_KEY", "x"), ("PATH", "/usr/bin:/bin")]
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let found = describe(folder.path(), &variables, vec!["API_KEY".to_owned()]);
        assert_eq!(
            found.variables,
            BTreeMap::from([("OMP_NUM_THREADS".to_owned(), "2".to_owned())])
        );
        assert_eq!(found.lock_files.len(), 1);
        assert_eq!(found.held_back, ["API_KEY"]);
    }
}

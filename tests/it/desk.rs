//! Bundles made by hand, and a results repository to publish them into.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftrail::app::publish::{Options, Pages, PublishError, Published, publish};
use perftrail::config;
use perftrail::model::status::Identity;
use perftrail::record::{Record, canonical, read::read};
use perftrail::results::{BRANCH, Target};
use tempfile::TempDir;

/// A folder with bundles and a results repository.
pub(crate) struct Desk {
    folder: TempDir,
}

/// A succeeded record, with a digest that fits after the change.
pub(crate) fn record(change: impl FnOnce(&mut Record)) -> Record {
    let bytes = include_bytes!("../fixtures/records/v1/succeeded.json");
    let mut record = read(bytes).expect("the golden record").record;
    record.files.clear();
    change(&mut record);
    record.run.digest = Some(canonical::record_digest(&record).expect("JSON"));
    record
}

/// The record of the run number `n`: a commit of its own, an hour after the one before.
pub(crate) fn numbered(n: i64) -> Record {
    record(|record| {
        record.run.id = format!("schedule-{n}-1-simulation");
        let hour = jiff::SignedDuration::from_hours(n);
        record.run.planned += hour;
        record.run.started = record.run.started.map(|time| time + hour);
        let digits = (n.unsigned_abs() + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let sha = format!("{digits:016x}{n:024x}");
        record.commit.sha = perftrail::model::names::CommitSha::parse(&sha);
        record.commit.tree = Some(sha.chars().rev().collect());
        record.commit.merge_base.clone_from(&record.commit.sha);
    })
}

impl Desk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("home")).expect("a home");
        Self { folder }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Where the results repository is, or will be.
    pub(crate) fn repository(&self) -> PathBuf {
        self.path("results")
    }

    /// Writes a bundle of this name.
    pub(crate) fn bundle(&self, name: &str, record: &Record) -> PathBuf {
        let folder = self.path("out").join(name);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("stats.json"), canonical::pretty(record).expect("JSON"))
            .expect("a record");
        folder
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            to: Target::Local(self.repository()),
            branch: BRANCH.to_owned(),
            rules: config::Results::default(),
            trusted: true,
            identity: Identity::Claimed,
            awaited: None,
            now: "2026-12-01T09:00:00Z".parse().expect("a time"),
            pages: Pages::default(),
            judging: perftrail::app::verdict::judging(&config::Config::default()),
            ancestry: perftrail::app::ancestry::Ancestry::default(),
        }
    }

    pub(crate) fn publish(&self, bundles: &[&Path]) -> Result<Published, PublishError> {
        publish_with(bundles, &self.options())
    }

    /// Publishes one bundle that nothing speaks against; gives the run's folder.
    #[track_caller]
    pub(crate) fn published(&self, bundle: &Path) -> String {
        let published = self.publish(&[bundle]).expect("published");
        assert!(published.is_whole(), "{published:?}");
        assert_eq!(published.notices, Vec::<String>::new());
        published.runs[0].path.clone()
    }

    /// Runs git on the results repository.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
            .args(args)
            .current_dir(self.repository())
            .env("HOME", self.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {told}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A file of the branch.
    #[track_caller]
    pub(crate) fn show(&self, path: &str) -> String {
        self.git(&["show", &format!("results:{path}")])
    }

    /// Every path of the branch.
    pub(crate) fn tree(&self) -> Vec<String> {
        self.git(&["ls-tree", "-r", "--name-only", "results"]).lines().map(str::to_owned).collect()
    }

    pub(crate) fn commits(&self) -> usize {
        self.git(&["rev-list", "--count", "results"]).parse().expect("a number")
    }

    /// Puts a file of that mode onto the branch by the git program, in place of what stands there.
    #[track_caller]
    pub(crate) fn put(&self, path: &str, mode: &str, text: &str) {
        let file = self.path("content");
        fs::write(&file, text).expect("a file");
        let blob = self.git(&["hash-object", "-w", &file.to_string_lossy()]);
        let entry = format!("{mode},{blob},{path}");
        self.edit(&[path], Some(&entry));
    }

    /// Puts a folder, made before, onto the branch as it is: too much for an index, perhaps.
    #[track_caller]
    pub(crate) fn put_tree(&self, path: &str, tree: &str) {
        let mut below = (path.rsplit('/').next().unwrap_or(path).to_owned(), tree.to_owned());
        let mut folder = path.to_owned();
        loop {
            folder.truncate(folder.rfind('/').unwrap_or(0));
            let listed = self.git(&["ls-tree", &format!("results:{folder}")]);
            let others = listed.lines().filter(|line| !line.ends_with(&format!("\t{}", below.0)));
            let mut entries: Vec<String> = others.map(str::to_owned).collect();
            entries.push(format!("040000 tree {}\t{}", below.1, below.0));
            fs::write(self.path("entries"), format!("{}\n", entries.join("\n"))).expect("a file");
            let made = Command::new("sh")
                .args(["-c", &format!("git mktree < '{}'", self.path("entries").display())])
                .current_dir(self.repository())
                .output()
                .expect("sh starts");
            let made = String::from_utf8_lossy(&made.stdout).trim().to_owned();
            if folder.is_empty() {
                let commit = self.git(&["commit-tree", "-p", "results", "-m", "By hand", &made]);
                self.git(&["update-ref", "refs/heads/results", &commit]);
                return;
            }
            below = (folder.rsplit('/').next().unwrap_or(&folder).to_owned(), made);
        }
    }

    /// Takes files and folders off the branch by the git program, in one commit.
    #[track_caller]
    pub(crate) fn remove(&self, paths: &[&str]) {
        self.edit(paths, None);
    }

    #[track_caller]
    fn edit(&self, removed: &[&str], added: Option<&str>) {
        let index = self.path("index-file");
        let _ = fs::remove_file(&index);
        let git = |args: &[&str]| {
            let output = Command::new("git")
                .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
                .args(args)
                .current_dir(self.repository())
                .env("GIT_INDEX_FILE", &index)
                .output()
                .expect("git starts");
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "git {args:?}: {told}");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        git(&["read-tree", "results"]);
        for path in removed {
            git(&["rm", "-r", "-q", "--cached", "--ignore-unmatch", path]);
        }
        if let Some(entry) = added {
            git(&["update-index", "--add", "--cacheinfo", entry]);
        }
        let tree = git(&["write-tree"]);
        let commit = git(&["commit-tree", "-p", "results", "-m", "By hand", &tree]);
        git(&["update-ref", "refs/heads/results", &commit]);
    }

    /// Every object is there and sound, and history is one line.
    #[track_caller]
    pub(crate) fn check(&self) {
        self.git(&["fsck", "--strict", "--full"]);
        assert_eq!(self.git(&["rev-list", "--merges", "results"]), "");
    }
}

pub(crate) fn publish_with(
    bundles: &[&Path],
    options: &Options,
) -> Result<Published, PublishError> {
    let bundles: Vec<PathBuf> = bundles.iter().map(|path| path.to_path_buf()).collect();
    publish(&bundles, options, &mut |_| true)
}

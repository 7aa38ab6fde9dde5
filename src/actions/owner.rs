//! Whose files the workspace holds, and what that user needs to run a job: a name, a home, a
//! Python environment that can be written.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown, lchown};
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

/// The user that jobs run as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
}

/// Where a user is put who is in no list of users.
const PASSWD: &str = "/etc/passwd";
/// The name given to one.
const NAME: &str = "perftrail";

impl Owner {
    /// The owner of `folder`; `None` when it is root, or the folder cannot be looked at.
    pub fn of(folder: &Path) -> Option<Self> {
        let found = fs::metadata(folder).ok()?;
        (found.uid() != 0).then(|| Self { uid: found.uid(), gid: found.gid() })
    }

    /// Gives this user a line in the list of users, a home, and the Python environment that is
    /// active. What it needs in its environment comes back.
    ///
    /// # Errors
    /// When no home can be made.
    pub fn settle(
        self,
        variables: &BTreeMap<String, String>,
    ) -> io::Result<BTreeMap<&'static str, String>> {
        let home = self.home(variables)?;
        // Without a line there a program that asks for its user's name fails; it is no reason not to run.
        let name = self.name(Path::new(PASSWD), &home).unwrap_or_else(|_| NAME.to_owned());
        if let Some(venv) = variables.get("VIRTUAL_ENV").map(Path::new) {
            let _ = self.take(venv);
        }
        let home = home.display().to_string();
        Ok(BTreeMap::from([("HOME", home), ("USER", name.clone()), ("LOGNAME", name)]))
    }

    /// `HOME` where it belongs to this user, else a new folder.
    fn home(self, variables: &BTreeMap<String, String>) -> io::Result<PathBuf> {
        if let Some(home) = variables.get("HOME").map(PathBuf::from)
            && fs::metadata(&home).is_ok_and(|found| found.is_dir() && found.uid() == self.uid)
        {
            return Ok(home);
        }
        let home = std::env::temp_dir().join(format!("{NAME}-home-{}", self.uid));
        match fs::DirBuilder::new().mode(0o700).create(&home) {
            Ok(()) => chown(&home, Some(self.uid), Some(self.gid))?,
            // An earlier step made it. What is somebody else's is not used.
            Err(_)
                if fs::symlink_metadata(&home)
                    .is_ok_and(|found| found.is_dir() && found.uid() == self.uid) => {}
            Err(error) => return Err(error),
        }
        Ok(home)
    }

    /// The user's name in the list at `path`, where it is put if it is not there.
    fn name(self, path: &Path, home: &Path) -> io::Result<String> {
        let text = fs::read_to_string(path)?;
        let uid = self.uid.to_string();
        let known = text.lines().find(|line| line.split(':').nth(2) == Some(&uid));
        if let Some(name) = known.and_then(|line| line.split(':').next()) {
            return Ok(name.to_owned());
        }
        let taken = text.lines().any(|line| line.split(':').next() == Some(NAME));
        let name = if taken { format!("{NAME}{uid}") } else { NAME.to_owned() };
        let begin = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let line = format!("{begin}{name}:x:{uid}:{}::{}:/bin/bash\n", self.gid, home.display());
        OpenOptions::new().append(true).open(path)?.write_all(line.as_bytes())?;
        Ok(name)
    }

    /// Gives a folder and all in it to this user, unless it is theirs already.
    fn take(self, folder: &Path) -> io::Result<()> {
        if fs::metadata(folder)?.uid() == self.uid {
            return Ok(());
        }
        for entry in WalkDir::new(folder).into_iter().flatten() {
            lchown(entry.path(), Some(self.uid), Some(self.gid))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_once() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("passwd");
        fs::write(&list, "root:x:0:0:root:/:/bin/bash\nme:x:1000:1000::/:/bin/sh").unwrap();
        let owner = Owner { uid: 1001, gid: 121 };
        let home = Path::new("/somewhere");
        for _ in 0..2 {
            assert_eq!(owner.name(&list, home).unwrap(), "perftrail");
        }
        let known = Owner { uid: 1000, gid: 1 };
        assert_eq!(known.name(&list, home).unwrap(), "me");
        assert_eq!(Owner { uid: 7, gid: 7 }.name(&list, home).unwrap(), "perftrail7");
        let text = fs::read_to_string(&list).unwrap();
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains("\nperftrail:x:1001:121::/somewhere:/bin/bash\n"), "{text}");
    }

    #[test]
    fn a_home_that_is_ones_own_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let uid = fs::metadata(folder.path()).unwrap().uid();
        let owner = Owner { uid, gid: 0 };
        let home = folder.path().display().to_string();
        let found = owner.home(&[("HOME".to_owned(), home.clone())].into()).unwrap();
        assert_eq!(found.display().to_string(), home);
    }
}

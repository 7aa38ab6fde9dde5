//! What people stumble over in workflows is said in a sentence, where it happened and by `doctor`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Project, notice};

fn codes(project: &Project) -> Vec<String> {
    let record = project.record();
    let notices = record["notices"].as_array().expect("notices").clone();
    notices.iter().map(|one| one["code"].as_str().expect("a code").to_owned()).collect()
}

#[test]
fn a_set_up_that_is_root_s_is_told_with_what_to_do() {
    for (says, is_told) in [
        (
            "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)",
            true,
        ),
        ("ERROR: no matching distribution found for nonsense", false),
    ] {
        let project = Project::new();
        let config = format!(
            "[[job]]\nname = \"a\"\nsetup = '''echo \"{says}\" >&2; exit 100'''\nrun = \"true\"\n"
        );
        project.file("perftrail.toml", &config).commit("Configure");
        let answer = project.perftrail(&["run"]).exits(3);
        assert_eq!(project.record()["run"]["status"], "setup_failed");
        assert_eq!(codes(&project).contains(&"setup_wants_root".to_owned()), is_told, "{says}");
        if is_told {
            let record = project.record();
            let message = notice(&record, "setup_wants_root");
            assert!(
                message.contains("lock-frontend") && message.contains("setup/action.yml"),
                "{message}"
            );
            assert!(answer.stdout.contains("rights of root"), "{}", answer.stdout);
        }
    }
}

/// A tox that keeps variables from what it starts, as the real one does, unless it is told to pass
/// them on.
const TOX: &str = "#!/bin/sh
grep -q PERFTRAIL tox.ini || unset PERFTRAIL_STATS
[ -z \"${PERFTRAIL_STATS:-}\" ] || echo '{\"metric\": \"rows\", \"value\": 3}' >> \"$PERFTRAIL_STATS\"
";

#[test]
fn tox_that_keeps_our_variables_to_itself_is_told() {
    for (pass_env, is_told) in [("", true), ("pass_env = PERFTRAIL_*\n", false)] {
        let project = Project::new();
        project
            .file("bin/tox", TOX)
            .file("tox.ini", &format!("[testenv]\n{pass_env}commands = true\n"));
        let tox = project.path("bin/tox");
        fs::set_permissions(tox, fs::Permissions::from_mode(0o755)).expect("a program");
        project.file(
            "perftrail.toml",
            "[[job]]\nname = \"a\"\nrun = \"bin/tox -e profile\"\ntimeout = \"1h\"\n",
        );
        project.commit("Configure");
        project.perftrail(&["run"]).exits(0);
        assert_eq!(codes(&project).contains(&"tox_drops_variables".to_owned()), is_told);
        let rows = &project.record()["metrics"]["rows"];
        assert_eq!(rows.is_null(), is_told, "{rows}");
        let doctor = project.perftrail(&["doctor"]).exits(0);
        assert_eq!(doctor.stdout.contains("pass_env = PERFTRAIL_*"), is_told, "{}", doctor.stdout);
    }
}

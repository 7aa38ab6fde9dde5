//! Two stored runs laid on each other: the function that got slower has a name, in every form.

use serde_json::Value;

use crate::support::Project;

/// A project whose job leaves the stacks of `stacks.folded`, run once with each of `versions`.
fn with_runs(versions: &[&str], rules: &str) -> Project {
    let project = Project::new();
    project.file(
        "perftrail.toml",
        &format!("{rules}\n[[job]]\nname = \"j\"\nrun = \"cp stacks.folded {{output}}\"\nprofiler = \"self\"\n"),
    );
    for stacks in versions {
        project.file("stacks.folded", stacks);
        project.commit("Change the stacks");
        project.perftrail(&["run", "--publish", "--to", "results"]).exits(0);
    }
    project
}

const BEFORE: &str =
    "main;step;update_population 4001\nmain;step;births 2999\nmain;report 3000\nmain;old_way 900\n";
const AFTER: &str =
    "main;step;update_population 5201\nmain;step;births 3010\nmain;report 3001\nmain;new_way 800\n";

fn compare(project: &Project, more: &[&str]) -> String {
    let words = [&["compare", "latest~1", "latest", "--to", "results"], more].concat();
    project.perftrail(&words).exits(0).stdout
}

#[test]
fn the_function_that_got_slower_is_named_in_every_form() {
    let project = with_runs(&[BEFORE, AFTER], "");
    let text = compare(&project, &[]);
    assert!(text.contains("+11 % in `update_population`"), "{text}");
    assert!(text.contains("new_way") && text.contains("gone"), "{text}");
    assert!(!text.contains("births"), "noise is not told: {text}");
    let words = ["report", "latest", "--against", "latest~1", "--to", "results"];
    assert_eq!(project.perftrail(&words).exits(0).stdout, text, "one comparison, two ways to ask");

    let markdown = compare(&project, &["--format", "md"]);
    assert!(markdown.contains("| <code>update_population</code> |"), "{markdown}");
    assert!(markdown.contains("**duration"), "{markdown}");

    let found: Value =
        serde_json::from_str(&compare(&project, &["--format", "json"])).expect("JSON alone");
    let functions = found["profiles"][0]["difference"]["functions"].as_array().expect("functions");
    let presence: Vec<_> =
        functions.iter().map(|one| (one["function"].as_str(), one["presence"].as_str())).collect();
    assert_eq!(
        presence,
        [
            (Some("update_population"), Some("both")),
            (Some("old_way"), Some("vanished")),
            (Some("new_way"), Some("new")),
        ]
    );
    assert_eq!(functions[0]["self"]["after"], 5201.0);
}

#[test]
fn the_page_needs_nothing_else_and_draws_both_trees() {
    let project = with_runs(&[BEFORE, AFTER], "");
    let page = compare(&project, &["--format", "html"]);
    if let Some(folder) = std::env::var_os("PERFTRAIL_TEST_PAGES") {
        let path = std::path::Path::new(&folder).join("difference.html");
        std::fs::write(path, &page).expect("a page for the browser");
    }
    assert!(!page.contains("<script") && !page.contains(" style=") && !page.contains("onclick"));
    assert!(!page.contains("src=") && !page.contains("url("), "no network");
    assert_eq!(page.matches("<svg").count(), 3, "widths of the second, the first, the greater");
    let drawings: Vec<&str> = page.split("class=\"of of-").skip(1).collect();
    let has = |drawing: &str, class: &str, name: &str| {
        drawing
            .split("<g>")
            .any(|one| one.contains(&format!("class=\"{class}\"")) && one.contains(name))
    };
    assert!(drawings[0].starts_with("after"), "the second run's first");
    assert!(has(drawings[0], "more3", "update_population: 4,001 before, 5,201 after"), "{page}");
    assert!(has(drawings[0], "more3", "new_way") && !has(drawings[0], "less3", "old_way"));
    assert!(has(drawings[1], "less3", "old_way") && !has(drawings[1], "more3", "new_way"));
    assert!(has(drawings[2], "less3", "old_way") && has(drawings[2], "more3", "new_way"));
    assert!(has(drawings[0], "same", "births") && page.contains("within noise"));
    assert!(page.contains("<fieldset><legend>Width of</legend>"));
    assert!(page.len() < 200_000, "{}", page.len());
}

#[test]
fn runs_are_named_by_commit_and_by_path() {
    let project = with_runs(&[BEFORE, AFTER], "");
    let listed = project.perftrail(&["runs", "--to", "results", "--format", "json"]).exits(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let lines = listed["runs"].as_array().or(listed.as_array()).expect("runs");
    let of = |at: usize, key: &str| lines[at][key].as_str().expect("a text").to_owned();
    let by_path = ["compare", &of(1, "path"), &of(0, "path"), "--to", "results"];
    let by_commit = ["compare", &of(1, "commit")[..10], &of(0, "commit")[..10], "--to", "results"];
    let text = compare(&project, &[]);
    for words in [by_path, by_commit] {
        assert_eq!(project.perftrail(&words).exits(0).stdout, text, "{words:?}");
    }
    let none = project.perftrail(&["compare", "latest~7", "latest", "--to", "results"]).exits(2);
    assert!(none.stderr.contains("latest~7"), "{}", none.stderr);
}

#[test]
fn runs_of_other_machines_are_refused_or_named() {
    let project = Project::new();
    for machine in ["one", "two"] {
        project
            .perftrail(&["run", "--publish", "--to", "results", "--machine", machine, "--", "true"])
            .exits(0);
    }
    let words = ["compare", "latest~1", "latest", "--to", "results"];
    let refused = project.perftrail(&words).exits(2);
    assert!(refused.stdout.is_empty());
    assert!(
        refused.stderr.contains("`one`") && refused.stderr.contains("`two`"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("--other-machines"), "{}", refused.stderr);
    let all_the_same = [&words[..], &["--other-machines"]].concat();
    let told = project.perftrail(&all_the_same).exits(0).stdout;
    assert!(told.contains("Careful: the machine groups differ: one and two"), "{told}");
}

#[test]
fn rules_for_functions_decide_what_is_told() {
    let rules = "[[function]]\nwarn = \"20%\"\n\
                 [[function]]\nmatch = \"*:new_*\"\nignore = { until = \"2999-01-01\", because = \"the new way\" }\n\
                 [[function]]\nmatch = \"*:old_*\"\nhide = [\"*\"]\n";
    let project = with_runs(&[BEFORE, AFTER], rules);
    let text = compare(&project, &[]);
    assert!(text.contains("Worse than a rule allows: `update_population`"), "{text}");
    assert!(text.contains("the new way (until 2999-01-01)"), "{text}");
    assert!(!text.contains("old_way") && text.contains("1 are hidden by rules"), "{text}");
    let page = compare(&project, &["--format", "html"]);
    assert!(page.contains("<strong>Worse than a rule allows:</strong>"), "{page}");
}

#[test]
fn hostile_names_are_inert() {
    let name = "</svg><script>alert(1)</script>";
    let hostile =
        |count: u32| format!("main;{name} {count}\nmain;b|c`d 5000\nmain;\u{202e}x 3000\n");
    let project = with_runs(&[&hostile(5000), &hostile(9000)], "");
    let page = compare(&project, &["--format", "html"]);
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
    let markdown = compare(&project, &["--format", "md"]);
    assert!(!markdown.contains("<script") && markdown.contains("&lt;script&gt;"), "{markdown}");
    assert!(!page.contains('\u{202e}') && !markdown.contains('\u{202e}'));
}

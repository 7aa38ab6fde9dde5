//! Call trees on the page: small, whole in their numbers, inert, the same viewer everywhere.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use perftrail::profile::model::Profile;
use perftrail::profile::stored::PROFILE_FILE;
use perftrail::profile::{Options, read_bytes};
use perftrail::record::profiles::{ProfileSummary, Shape, WeightSum};
use perftrail::report::{EarlierRun, LogTail, PagePlace, RunPageInput, run_pages};
use serde_json::Value;

use crate::report_samples::{self as samples, HOSTILE, Sample};

fn fixture(name: &str) -> Vec<Profile> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/profiles").join(name);
    read(&fs::read(path).expect("a fixture"))
}

fn read(bytes: &[u8]) -> Vec<Profile> {
    read_bytes(bytes, &Options::default()).expect("a profile").profiles
}

fn sample(profiles: Vec<Profile>) -> Sample {
    let mut sample = samples::good();
    // The other sample has as much over time as a page can show; an ordinary run has less.
    sample.series.series.truncate(2);
    sample.record.series.truncate(2);
    for (place, profile) in (0_u32..).zip(&profiles) {
        sample.record.profiles.push(ProfileSummary {
            file: PROFILE_FILE.to_owned(),
            place,
            name: profile.name.clone(),
            step: profile.step.clone(),
            source: "out/profile".to_owned(),
            format: profile.format.as_str().to_owned(),
            tool: profile.tool.clone(),
            shape: if profile.tree().is_some() { Shape::Tree } else { Shape::Table },
            weights: vec![WeightSum {
                name: profile.weights[0].name.clone(),
                unit: profile.weights[0].unit.clone(),
                measured: profile.weights[0].measured,
                sum: profile.sum(0),
            }],
            functions: profile.frames.len() as u64,
            nodes: 1,
            kept: None,
            samples: profile.samples,
            interval: profile.interval,
            duration: profile.duration,
        });
    }
    sample.record.functions = perftrail::profile::view::functions::top(&profiles, 30);
    sample.profiles = profiles;
    sample
}

fn pages(sample: &Sample) -> Vec<(String, String)> {
    let input = RunPageInput {
        record: &sample.record,
        series: &sample.series,
        log_tail: LogTail::Text(&sample.log),
        earlier: EarlierRun::Absent("this is the first run of its history"),
        verdict: perftrail::report::Said::Nothing("the run is not published"),
        place: PagePlace::Bundle,
        profiles: &sample.profiles,
    };
    let pages = run_pages(&input).expect("pages");
    pages
        .into_iter()
        .map(|(name, bytes)| (name, String::from_utf8(bytes).expect("UTF-8")))
        .collect()
}

fn page(pages: &[(String, String)], name: &str) -> String {
    let found = pages.iter().find(|(path, _)| path == name);
    found.map(|(_, text)| text.clone()).unwrap_or_default()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).expect("a start");
    rest.split_once(end).expect("an end").0
}

fn data(html: &str) -> Value {
    let json = between(html, "id=\"profiles\">", "</script>");
    serde_json::from_str(json).expect("the viewer's data")
}

fn big() -> Vec<Profile> {
    let mut stacks = String::new();
    for i in 0..90_000_u32 {
        let scattered = i.wrapping_mul(2_654_435_761);
        writeln!(stacks, "main;part_{};work_{};leaf_{scattered:x} {}", i % 13, i % 977, i % 7 + 1)
            .expect("text");
    }
    read(stacks.as_bytes())
}

fn hostile() -> Vec<Profile> {
    let name = HOSTILE.replace([';', '\n'], " ");
    let mut text = format!("{name} (a.py:3);{name};x 5\nmain;</script> 3\n");
    writeln!(text, "main;{} 2", "long".repeat(5000)).expect("text");
    read(text.as_bytes())
}

fn all() -> Vec<(&'static str, Sample)> {
    let session = fixture("pyinstrument.pyisession.gz");
    let mut steps = fixture("pyspy.speedscope.json");
    for (profile, step) in steps.iter_mut().zip(["prepare", "simulate"]) {
        profile.step = Some(step.to_owned());
    }
    steps.extend(fixture("cprofile.pstats"));
    vec![
        ("calls-session", sample(session)),
        ("calls-table", sample(fixture("cprofile.pstats"))),
        ("calls-lines", sample(fixture("scalene-2.json.gz"))),
        ("calls-steps", sample(steps)),
        ("calls-big", sample(big())),
        ("calls-hostile", sample(hostile())),
    ]
}

/// Also writes the pages into the folder that `PERFTRAIL_TEST_PAGES` names, for the browser.
#[test]
fn every_page_is_small_and_holds_what_the_viewer_needs() {
    let folder = std::env::var_os("PERFTRAIL_TEST_PAGES").map(PathBuf::from);
    let mut viewers = Vec::new();
    for (name, sample) in all() {
        let pages = pages(&sample);
        let html = page(&pages, "report.html");
        if let Some(folder) = &folder {
            fs::write(folder.join(format!("{name}.html")), &html).expect("a page");
        }
        assert!(html.len() < 200_000, "{name}: {} bytes", html.len());
        let viewer = html.rsplit_once("<script>").expect("the viewer").1.to_owned();
        viewers.push(between(&viewer, "\"use strict\"", "</script>").to_owned());
        assert_eq!(data(&html).as_array().map(Vec::len), Some(sample.profiles.len()), "{name}");
    }
    assert!(viewers.windows(2).all(|pair| pair[0] == pair[1]), "one viewer, byte by byte");
}

#[test]
fn a_small_view_keeps_the_sums_of_the_whole() {
    let profiles = big();
    let sum = profiles[0].sum(0);
    let html = page(&pages(&sample(profiles)), "report.html");
    let data = data(&html);
    let tree = &data[0]["tree"];
    let own = tree["own"][0].as_array().expect("weights");
    let drawn: f64 = own.iter().filter_map(Value::as_f64).sum();
    assert!((drawn - sum).abs() <= 1e-4 * sum, "{drawn} of {sum}");
    assert!(own.len() < 5000, "{}", own.len());
    assert_eq!(data[0]["nodes"][1].as_u64(), Some(own.len() as u64));
    let functions = &data[0]["functions"][0];
    let main = functions["total"]
        .as_array()
        .expect("totals")
        .iter()
        .filter_map(Value::as_f64)
        .fold(0.0, f64::max);
    assert!((main - sum).abs() <= 1e-5 * sum, "the function's total is the whole one's");
}

#[test]
fn hostile_names_are_inert() {
    let pages = pages(&sample(hostile()));
    let html = page(&pages, "report.html");
    assert_eq!(html.matches("<script").count(), 3, "two data, one script");
    assert_eq!(html.matches("</script>").count(), 3);
    assert!(!html.contains("<img") && !html.contains('\u{202e}'));
    let svg = page(&pages, "call-tree.svg");
    assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
}

#[test]
fn places_without_scripts_have_a_drawing() {
    for (name, sample) in all() {
        let pages = pages(&sample);
        let (svg, readme) = (page(&pages, "call-tree.svg"), page(&pages, "README.md"));
        if name == "calls-table" {
            assert!(svg.is_empty() && !readme.contains("call-tree.svg"), "a table is no tree");
            continue;
        }
        assert!(svg.len() < 30_000, "{name}: {} bytes", svg.len());
        assert!(svg.contains("<title") && svg.contains("prefers-color-scheme"), "{name}");
        assert!(readme.contains("![The top of the call tree](call-tree.svg)"), "{name}");
        let html = page(&pages, "report.html");
        assert!(
            html.contains("class=\"calls\"")
                && !between(&html, "class=\"calls\"", "</svg>").contains("<style")
        );
    }
}

#[test]
fn the_order_of_time_is_coarse_and_whole() {
    let profiles = fixture("pyinstrument.pyisession.gz");
    let whole: f64 = profiles[0].order[0].length.iter().sum();
    let html = page(&pages(&sample(profiles)), "report.html");
    let order = &data(&html)[0]["order"][0];
    let lengths: f64 =
        order["length"].as_array().expect("lengths").iter().filter_map(Value::as_f64).sum();
    assert!((lengths - whole).abs() < 1e-3 * whole, "{lengths} of {whole}");
}

/// One function made slower between two runs is named from the command line.
#[test]
fn the_function_that_got_slower_is_named() {
    use crate::support::Project;
    let project = Project::new();
    let job = |population: u32| {
        format!(
            "main;run;update_population {population}\nmain;run;write_csv 3001\nmain;run;births 2001\n"
        )
    };
    project.file("a.folded", &job(4001)).file("b.folded", &job(5201)).file(
        "perftrail.toml",
        "[[job]]\nname = \"sim\"\nrun = \"cp \\\"$FOLDED\\\" {output}/stacks.folded; date +%N > {output}/when.txt\"\nprofiler = \"self\"\n\
         collect = [\"none\"]\nenv_pass = [\"FOLDED\"]\n",
    );
    project.commit("A job");
    for name in ["a.folded", "b.folded"] {
        let mut command = project.command(&["run", "--publish", "--to", "results"]);
        let answer = crate::support::Answer::of(command.env("FOLDED", name));
        answer.exits(0);
    }
    let told = project
        .perftrail(&["report", "latest", "--against", "latest~1", "--to", "results"])
        .exits(0);
    let line =
        told.stdout.lines().find(|line| line.contains("update_population")).expect("the function");
    assert!(told.stdout.contains("+13 % in `update_population`"), "{}", told.stdout);
    assert!(line.contains("+13"), "{}", told.stdout);
    assert!(!told.stdout.contains("births"), "what did not move is not told: {}", told.stdout);
    assert!(told.stdout.contains("files/when.txt differs"), "{}", told.stdout);
    let json = project
        .perftrail(&[
            "report",
            "latest",
            "--against",
            "latest~1",
            "--to",
            "results",
            "--format",
            "json",
        ])
        .exits(0);
    let found: Value = serde_json::from_str(&json.stdout).expect("JSON alone");
    assert_eq!(found["profiles"][0]["difference"]["functions"][0]["function"], "update_population");
    assert_eq!(found["profiles"][0]["difference"]["functions"][0]["self"]["after"], 5201.0);
}

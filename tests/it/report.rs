//! The pages of a run: what they show, and that nothing a job wrote does anything in them.

use std::fs;

use perftrail::report::terminal::{self, TerminalOptions, Written};
use perftrail::report::{EarlierRun, LogTail, PagePlace, RunPageInput, run_pages};

use crate::report_samples::{self as samples, Sample};

const PLACE: &str =
    "runs/4f/4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a/2026-11-30/local-081500-00a3-simulation";

fn input<'a>(sample: &'a Sample, earlier: EarlierRun<'a>) -> RunPageInput<'a> {
    RunPageInput {
        verdict: perftrail::report::Said::Nothing("the run is not published"),
        record: &sample.record,
        series: &sample.series,
        log_tail: LogTail::Text(&sample.log),
        earlier,
        place: PagePlace::Results(PLACE),
        profiles: &sample.profiles,
    }
}

/// `README.md` and `report.html`.
fn pages(sample: &Sample, earlier: EarlierRun<'_>) -> (String, String) {
    let pages = run_pages(&input(sample, earlier)).expect("pages");
    let text = |name: &str| {
        let (_, bytes) = pages.iter().find(|(path, _)| path == name).expect("a page");
        String::from_utf8(bytes.clone()).expect("UTF-8")
    };
    (text("README.md"), text("report.html"))
}

const FIRST: EarlierRun<'static> = EarlierRun::Absent("this is the first run of its history");

/// Writes the pages into the folder that `PERFTRAIL_TEST_PAGES` names, for the browser to open.
#[test]
fn pages_of_every_sample_can_be_made() {
    let samples =
        [("good", samples::good()), ("failed", samples::failed()), ("hostile", samples::hostile())];
    let folder = std::env::var_os("PERFTRAIL_TEST_PAGES").map(std::path::PathBuf::from);
    for (name, sample) in samples {
        let line = samples::earlier(&sample.record);
        for (variant, earlier) in
            [(name.to_owned(), FIRST), (format!("{name}-beside"), EarlierRun::Found(&line))]
        {
            let (markdown, html) = pages(&sample, earlier);
            if let Some(folder) = &folder {
                fs::write(folder.join(format!("{variant}.html")), &html).expect("a page");
                fs::write(folder.join(format!("{variant}.md")), &markdown).expect("a page");
            }
        }
    }
}

/// The text of each element of that name in a page; our templates write tags without surprises.
fn elements<'a>(html: &'a str, start: &'a str, end: &'a str) -> Vec<&'a str> {
    html.split(start).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

#[test]
fn hostile_text_is_inert_in_the_page() {
    let (_, html) = pages(&samples::hostile(), FIRST);
    assert_eq!(html.matches("<script").count(), 2, "the data and our own script");
    assert_eq!(html.matches("</script>").count(), 2);
    assert!(!html.contains("<img"), "no element of a job's");
    assert!(!html.contains("onerror=alert(1)>"), "its end is escaped");
    assert!(!html.contains("href=\"http://e"), "no address of a job's");
    let hidden = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert_eq!(html.chars().find(|c| hidden(*c)), None);
    assert!(html.contains("[U+202E]txt[U+0000] red"), "hidden characters are shown");
    let json = elements(&html, "id=\"drawing\">", "</script>");
    let drawing: serde_json::Value = serde_json::from_str(json[0]).expect("JSON");
    assert!(drawing["panels"][0]["label"].as_str().expect("a label").starts_with("</script>"));
}

#[test]
fn hostile_text_is_inert_in_markdown() {
    let (markdown, _) = pages(&samples::hostile(), FIRST);
    let fence = "\n`````text\n";
    let (before, log) =
        markdown.split_once(fence).expect("a fence longer than any run of backticks in the log");
    assert!(log.contains("@user #1 ![](http://e)"), "a fence needs no escapes");
    let before = before.replace("\\[", "").replace("\\]", "");
    for live in ["<script", "<img", "@user", "![](", "](http", "#1 ", " | x | @", "http://", "`"] {
        assert!(!before.contains(live), "{live}");
    }
    let hidden = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert_eq!(markdown.chars().find(|c| hidden(*c)), None);
}

#[test]
fn every_row_of_markdown_has_the_cells_of_its_table() {
    for sample in [samples::good(), samples::failed(), samples::hostile()] {
        let line = samples::earlier(&sample.record);
        for earlier in [FIRST, EarlierRun::Found(&line)] {
            let (markdown, _) = pages(&sample, earlier);
            let mut columns = 0;
            for line in markdown.lines() {
                let cells = line.matches('|').count();
                if cells == 0 || !line.starts_with('|') {
                    columns = 0;
                } else if columns == 0 {
                    columns = cells;
                }
                assert!(cells == columns || !line.starts_with('|'), "{line}");
                assert!(!line.contains("|  |") && !line.contains("| |"), "an empty cell: {line}");
            }
        }
    }
}

#[test]
fn no_cell_of_the_page_is_empty() {
    for sample in [samples::good(), samples::failed(), samples::hostile()] {
        let line = samples::earlier(&sample.record);
        for earlier in [FIRST, EarlierRun::Found(&line)] {
            let (_, html) = pages(&sample, earlier);
            for empty in
                ["\"></", "<p></p>", "<td></td>", "<dd></dd>", "<h3></h3>", "<code></code>"]
            {
                assert!(!html.contains(empty), "{empty}");
            }
        }
    }
}

#[test]
fn the_policy_names_the_style_and_the_script() {
    let (_, html) = pages(&samples::good(), FIRST);
    let policy = elements(&html, "http-equiv=\"Content-Security-Policy\" content=\"", "\">");
    assert!(policy[0].starts_with("default-src 'none';") && !policy[0].contains("unsafe"));
    for (name, start, end) in
        [("style", "<style>", "</style>"), ("script", "<script>", "</script>")]
    {
        let text = elements(&html, start, end);
        assert_eq!(text.len(), 1, "{name}");
        let hash = format!("{name}-src 'sha256-{}'", base64_of_sha256(text[0]));
        assert!(policy[0].contains(&hash), "{hash} in {}", policy[0]);
    }
    let style = elements(&html, "<style>", "</style>");
    assert!(!style[0].contains("url(") && !style[0].contains("@import"));
    // What a policy with hashes would block.
    for blocked in [" style=\"", " onclick=", "<link rel=\"stylesheet", "src=\""] {
        assert!(!html.contains(blocked), "{blocked}");
    }
}

/// By another road than the page's own: hex from the record's digests, base64 by hand.
fn base64_of_sha256(text: &str) -> String {
    let hex = perftrail::record::canonical::sha256_hex(text.as_bytes());
    let bits = hex.chars().fold(String::new(), |bits, c| {
        let digit = c.to_digit(16).expect("a hex digit");
        format!("{bits}{digit:04b}")
    });
    let digits: Vec<char> =
        ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let sixes = format!("{bits}00");
    let text: String = (0..sixes.len() / 6)
        .map(|i| digits[usize::from_str_radix(&sixes[6 * i..6 * i + 6], 2).expect("bits")])
        .collect();
    format!("{text}=")
}

#[test]
fn style_and_script_are_the_same_in_every_report() {
    let (_, good) = pages(&samples::good(), FIRST);
    let (_, hostile) = pages(&samples::hostile(), FIRST);
    for (start, end) in [("<style>", "</style>"), ("<script>", "</script>")] {
        assert_eq!(elements(&good, start, end), elements(&hostile, start, end));
    }
}

#[test]
fn pages_stay_small() {
    let (markdown, html) = pages(&samples::good(), FIRST);
    assert!(html.len() < 180_000, "{} bytes", html.len());
    assert!(markdown.len() < 30_000, "{} bytes", markdown.len());
    let (markdown, html) = pages(&samples::hostile(), FIRST);
    assert!(html.len() < 600_000, "{} bytes", html.len());
    assert!(markdown.len() <= 64 * 1024, "{} bytes", markdown.len());
}

#[test]
fn ten_thousand_metrics_leave_out_whole_rows() {
    let mut sample = samples::good();
    let metric = sample.record.metrics["pop_df_rows"].clone();
    for i in 0..10_000 {
        sample.record.metrics.insert(format!("own.{i:05}"), metric.clone());
    }
    let (markdown, html) = pages(&sample, FIRST);
    assert!(markdown.len() <= 64 * 1024, "{} bytes", markdown.len());
    assert!(markdown.len() > 50_000, "room is used: {} bytes", markdown.len());
    assert!(html.len() < 500_000, "{} bytes", html.len());
    let shown = markdown.matches("<code>own.").count();
    let left_out: usize = markdown
        .lines()
        .find_map(|line| line.strip_suffix(" more rows are in stats.json."))
        .and_then(|count| count.parse().ok())
        .expect("a line that counts");
    // One more stands behind these in the order of names.
    assert_eq!(shown + left_out, 10_001);
    assert!(markdown.contains("## Log") && markdown.trim_end().ends_with("```"));
}

#[test]
fn the_markdown_of_a_good_run() {
    let sample = samples::good();
    let line = samples::earlier(&sample.record);
    let (markdown, _) = pages(&sample, EarlierRun::Found(&line));
    let (upper, _) = markdown.split_once("## Steps").expect("steps");
    insta::assert_snapshot!(upper);
}

#[test]
fn the_markdown_of_a_failed_run() {
    let (markdown, _) = pages(&samples::failed(), FIRST);
    insta::assert_snapshot!(markdown);
}

fn in_terminal(sample: &Sample, earlier: EarlierRun<'_>, colours: bool) -> String {
    let written = [
        Written { label: "bundle", place: "perftrail-out/local-081500-00a3-simulation" },
        Written { label: "page", place: "perftrail-out/local-081500-00a3-simulation/report.html" },
    ];
    terminal::render(&input(sample, earlier), &written, TerminalOptions { width: 100, colours })
}

#[test]
fn the_terminal_shows_the_first_numbers() {
    let sample = samples::good();
    let line = samples::earlier(&sample.record);
    insta::assert_snapshot!(in_terminal(&sample, EarlierRun::Found(&line), false));
}

#[test]
fn the_terminal_shows_a_failed_run() {
    insta::assert_snapshot!(in_terminal(&samples::failed(), FIRST, false));
}

#[test]
fn nothing_of_a_job_steers_the_terminal() {
    let text = in_terminal(&samples::hostile(), FIRST, false);
    let hidden = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert_eq!(text.chars().find(|c| hidden(*c)), None);
    assert!(text.contains("[U+202E]"));
    let coloured = in_terminal(&samples::good(), FIRST, true);
    assert!(coloured.contains("\u{1b}[32msucceeded\u{1b}[0m"), "{coloured}");
}

//! The pages of a run: what they show, and that nothing a job wrote does anything in them.

use std::fs;

use perftrail::report::terminal::{self, TerminalOptions, Written};
use perftrail::report::{EarlierRun, LogTail, PagePlace, RunPageInput, run_pages};

use crate::report_samples::{self as samples, HOSTILE, Sample};

const PLACE: &str =
    "runs/4f/4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a/2026-11-30/local-081500-00a3-simulation";

fn input<'a>(sample: &'a Sample, earlier: EarlierRun<'a>) -> RunPageInput<'a> {
    RunPageInput {
        record: &sample.record,
        series: &sample.series,
        log_tail: LogTail::Text(&sample.log),
        earlier,
        place: PagePlace::Results(PLACE),
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

//! The name of a job that is only a command: the script's or the program's stem.

use crate::model::names::job_name_from;

/// Programs that run a script.
const INTERPRETERS: &[&str] = &[
    "python", "pypy", "ruby", "perl", "node", "deno", "bun", "rscript", "julia", "php", "lua",
    "octave", "bash", "sh", "dash", "zsh", "ksh", "fish",
];
/// Options of these that take the next word as their value.
const WITH_VALUE: &[&str] = &["-W", "-X", "-o", "-O", "-I", "--rcfile", "--init-file"];

/// `python3 examples/simulation.py` is `simulation`, `python -m pkg.mod` is `mod`,
/// `./build/sim --fast` is `sim`, `bash -c '…'` is `bash`.
pub fn job_name(argv: &[String]) -> String {
    let Some((program, rest)) = argv.split_first() else {
        return job_name_from("");
    };
    let own = stem(program);
    let script = is_interpreter(&own).then(|| script(&own, rest)).flatten();
    job_name_from(&script.unwrap_or(own))
}

/// The same for a command line: assignments before the program are passed over.
pub fn job_name_of_line(line: &str) -> String {
    let is_assignment = |word: &&str| word.contains('=') && !word.starts_with(['=', '-', '/']);
    let words: Vec<_> =
        line.split_whitespace().skip_while(is_assignment).take(100).map(str::to_owned).collect();
    job_name(&words)
}

fn is_interpreter(stem: &str) -> bool {
    let plain = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&plain.to_ascii_lowercase().as_str())
}

fn script(interpreter: &str, words: &[String]) -> Option<String> {
    let is_shell = interpreter.ends_with("sh");
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-m" => return words.next()?.rsplit('.').next().map(str::to_owned),
            "-c" | "-e" if !(is_shell && word == "-e") => return None,
            "--" => return words.next().map(|word| stem(word)),
            option if WITH_VALUE.contains(&option) => {
                words.next();
            }
            // Shells take their options in one word: `-eo pipefail`, `-lc '…'`.
            option if is_shell && option.starts_with('-') && !option.starts_with("--") => {
                if option.contains('c') {
                    return None;
                }
                if option.ends_with(['o', 'O']) {
                    words.next();
                }
            }
            option if option.starts_with('-') => {}
            script => return Some(stem(script)),
        }
    }
    None
}

/// The last part of a path without its ending; `python3.12` has none.
fn stem(path: &str) -> String {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((stem, ending))
            if !stem.is_empty() && ending.starts_with(|c: char| c.is_ascii_alphabetic()) =>
        {
            stem.to_owned()
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_commands() {
        for (line, name) in [
            ("python3 examples/simulation.py --years 5", "simulation"),
            ("python -m pkg.mod", "mod"),
            ("python3.12 -X dev -u src/run.py", "run"),
            ("python -c pass", "python"),
            ("python3", "python3"),
            ("/usr/bin/python3.12", "python3_12"),
            ("bash -c true", "bash"),
            ("bash -eo pipefail -c true", "bash"),
            ("bash -e build.sh", "build"),
            ("sh -- x.sh", "x"),
            ("./build/sim --fast", "sim"),
            ("a.out", "a"),
            ("Rscript model.R", "model"),
            ("node bench.test.js", "bench_test"),
            ("../../x", "x"),
            ("/", "job"),
            ("pytest tests", "pytest"),
        ] {
            let argv: Vec<_> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(job_name(&argv), name, "{line}");
        }
        assert_eq!(job_name(&[]), "job");
        assert_eq!(job_name_of_line("OMP_NUM_THREADS=1 python sim.py | tee log"), "sim");
    }

    proptest! {
        #[test]
        fn any_command_has_a_fit_name(argv in proptest::collection::vec(".{0,50}", 0..4)) {
            prop_assert!(crate::model::names::is_job_name(&job_name(&argv)));
        }
    }
}

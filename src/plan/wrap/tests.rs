use super::*;

fn shell(text: &str) -> Command {
    Command::Shell(text.to_owned())
}

fn wrapped(profiler: Profiler, args: &[&str], text: &str) -> Result<String, CannotWrap> {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let wrapping = Wrapping { profiler, args: &args, major: None, output: "/t/o" };
    let short =
        |text: String| text.replace(&quote(CPROFILE), "CPROFILE").replace(&quote(PY_SPY), "PYSPY");
    wrap(&shell(text), &wrapping).map(|command| short(command.text()))
}

#[test]
fn words_go_where_python_starts_its_program() {
    use Profiler::{Cprofile, Memray, PySpy, Pyinstrument, Scalene};
    for (profiler, text, expected) in [
        (
            Pyinstrument,
            "A=1 python -u sim.py --out 'a b' > log",
            "A=1 python -u -m pyinstrument -i 0.01 -o /t/o sim.py --out 'a b' > log",
        ),
        (
            Pyinstrument,
            "uv run python -m pkg.mod x",
            "uv run python -m pyinstrument -i 0.01 -o /t/o -m pkg.mod x",
        ),
        (
            Pyinstrument,
            "uv run pytest -q",
            "uv run python -m pyinstrument -i 0.01 -o /t/o -m pytest -q",
        ),
        (
            Cprofile,
            "cd x && python sim.py 5 | tee log",
            "cd x && python -c CPROFILE /t/o sim.py 5 | tee log",
        ),
        (Cprofile, "python -c 'a()' b", "python -c CPROFILE /t/o -c 'a()' b"),
        (
            Scalene,
            "python sim.py --cpu-only",
            "python -m scalene run -o /t/o sim.py --- --cpu-only",
        ),
        (Scalene, "python sim.py", "python -m scalene run -o /t/o sim.py ---"),
        (
            Scalene,
            "python -m pkg.mod x",
            "python -m scalene run --program-path . -o /t/o --- -m pkg.mod x",
        ),
        (
            Scalene,
            "/v/python /v/bin/pytest a.py",
            "/v/python -m scalene run --program-path . -o /t/o --- -m pytest a.py",
        ),
        (Memray, "python3 sim.py", "python3 -m memray run -q -o /t/o sim.py"),
        (
            PySpy,
            "nice python sim.py 5",
            "nice sh -c PYSPY py-spy /t/o --rate 100 -- python sim.py 5",
        ),
        (PySpy, "uv run pytest", "uv run sh -c PYSPY py-spy /t/o --rate 100 -- python -m pytest"),
    ] {
        assert_eq!(wrapped(profiler, &[], text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn arguments_come_before_ours_and_take_their_place() {
    let with = |profiler, args: &[&str]| wrapped(profiler, args, "python sim.py");
    assert_eq!(
        with(Profiler::Pyinstrument, &["-i", "0.1"]).as_deref(),
        Ok("python -m pyinstrument -i 0.1 -o /t/o sim.py")
    );
    assert_eq!(
        with(Profiler::Scalene, &["--cpu-only"]).as_deref(),
        Ok("python -m scalene run --cpu-only -o /t/o sim.py ---")
    );
    assert!(matches!(with(Profiler::Cprofile, &["-s", "time"]), Err(CannotWrap::Args { .. })));
    let first = Wrapping { profiler: Profiler::Scalene, args: &[], major: Some(1), output: "/t/o" };
    assert_eq!(
        wrap(&shell("python sim.py 1"), &first).map(|command| command.text()).as_deref(),
        Ok("python -m scalene --cli --json --outfile /t/o sim.py --- 1")
    );
}

#[test]
fn what_cannot_be_done_is_said() {
    let code = wrapped(Profiler::Scalene, &[], "python -c 'a()'").unwrap_err();
    assert!(code.to_string().contains("put the code into a file"), "{code}");
    let other = wrapped(Profiler::Pyinstrument, &[], "./sim --fast").unwrap_err();
    assert_eq!(other, CannotWrap::NotPython { program: "./sim".to_owned() });
}

#[test]
fn lists_of_strings_stay_lists() {
    let argv = |text: &str| Command::Argv(text.split(' ').map(str::to_owned).collect());
    let wrapping = Wrapping { profiler: Profiler::Memray, args: &[], major: None, output: "/t/o" };
    assert_eq!(
        wrap(&argv("python sim.py x"), &wrapping),
        Ok(argv("python -m memray run -q -o /t/o sim.py x"))
    );
    assert_eq!(
        with_interpreter(&argv("pytest -q"), "/v/python", "/v/pytest"),
        Ok(argv("/v/python /v/pytest -q"))
    );
    assert_eq!(asking(&argv("uv run python sim.py"), "x"), Ok(argv("uv run python -c x")));
    assert_eq!(
        asking(&shell("cd a && uv run pytest -q"), "x"),
        Ok(shell("cd a && uv run python -c x"))
    );
    assert_eq!(
        under_perf(vec!["./sim".to_owned()], &[], "/t/o").join(" "),
        "perf record -q -g -o /t/o -F 99 -e cpu-clock -- ./sim"
    );
}

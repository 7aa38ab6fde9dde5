import sys

def run():
    import cProfile
    import os
    import runpy
    target, what = sys.argv[1], sys.argv[2]
    profile = cProfile.Profile()
    if what == "-m":
        sys.argv = sys.argv[3:]
        sys.path[0] = os.getcwd()
        call, args = runpy.run_module, dict(mod_name=sys.argv[0], run_name="__main__", alter_sys=True)
    elif what == "-c":
        code, sys.argv = sys.argv[3], ["-c"] + sys.argv[4:]
        call, args = exec, None
    else:
        sys.argv = sys.argv[2:]
        sys.path[0] = os.path.dirname(os.path.realpath(what))
        call, args = runpy.run_path, dict(path_name=what, run_name="__main__")
    pid = os.getpid()
    profile.enable()
    try:
        if args is None:
            exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        else:
            call(**args)
    finally:
        profile.disable()
        if os.getpid() == pid:
            profile.dump_stats(target)

run()

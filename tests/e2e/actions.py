"""The steps of action.yml, run on this machine as GitHub's runner would run them."""
import functools
import os
import re
import subprocess
from types import SimpleNamespace
from urllib.parse import unquote

import lib
from lib import Skip, check, eq

EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


def load(text):
    try:
        import yaml
    except ImportError:
        raise Skip("python3-yaml is not installed")
    return yaml.safe_load(text)


@functools.cache
def definition():
    return load((lib.ROOT / "action.yml").read_text())


def annotations(log):
    """The commands in a log that the runner obeys, as (name, properties, text)."""
    found, stopped = [], None
    for line in log.splitlines():
        command = re.match(r"\s*::([\w-]+)(?: (.*?))?::(.*)$", line)
        if stopped is not None:
            stopped = None if line == f"::{stopped}::" else stopped
        elif command and command.group(1) == "stop-commands":
            stopped = command.group(3)
        elif command:
            properties = dict(x.split("=", 1) for x in (command.group(2) or "").split(",") if x)
            found.append((command.group(1), {k: unquote(v) for k, v in properties.items()}, unquote(command.group(3))))
    eq(stopped, None, "commands are allowed at the end")
    return found


def run(t, inputs, folder, env=None):
    """One use of the action with `inputs` in `folder`. Returns status, log, annotations, outputs, summary."""
    action = definition()
    eq(set(inputs) - set(action["inputs"]), set(), "inputs that action.yml does not have")
    values = {k: str(inputs.get(k, v["default"])) for k, v in action["inputs"].items()}
    env = t.environ(env)
    runner = t.tmp / "runner"
    runner.mkdir(exist_ok=True)
    done = SimpleNamespace(status=0, log="", summary="", outputs={}, path=env["PATH"])
    steps = {}

    def value(name):
        words = name.split(".")
        return values[words[1]] if words[0] == "inputs" else steps.get(words[1], {}).get(words[3], "")
    for step in action["runs"]["steps"]:
        if "if" in step:
            name, wanted = re.fullmatch(r"(inputs\.\S+) != '(.*)'", step["if"]).groups()
            if value(name) == wanted:
                continue
        files = {x: runner / x for x in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
        for file in files.values():
            file.write_text("")
        script = runner / "script.sh"
        script.write_text(step["run"])
        more = {k: EXPRESSION.sub(lambda m: value(m.group(1)), v) for k, v in step["env"].items()}
        eq(step["shell"], "bash", "shell")
        got = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=folder, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=60 * lib.PATIENCE,
                             env={**env, **more, **files, "PATH": done.path, "RUNNER_TEMP": str(runner),
                                  "GITHUB_ACTION_PATH": str(lib.ROOT)})
        done.log += got.stdout.decode()
        done.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        done.path = ":".join([*reversed(files["GITHUB_PATH"].read_text().splitlines()), done.path])
        lines = files["GITHUB_OUTPUT"].read_text().splitlines()
        check(all("=" in x for x in lines), f"GITHUB_OUTPUT: {lines}")
        steps[step["id"]] = dict(x.split("=", 1) for x in lines)
        done.status = got.returncode
        if done.status != 0:
            break
    done.annotations = annotations(done.log)
    done.outputs = {k: EXPRESSION.sub(lambda m: value(m.group(1)), v["value"]) for k, v in action["outputs"].items()}
    done.text = done.outputs["text"] and open(done.outputs["text"], errors="replace").read()
    return done


def program_in_path(t):
    """A PATH whose first folder contains the program that is tested."""
    bin = t.tmp / "bin"
    bin.mkdir(exist_ok=True)
    if not (bin / "mcp-interposer").exists():
        (bin / "mcp-interposer").symlink_to(lib.PROGRAM)
    return f"{bin}:{os.environ['PATH']}"

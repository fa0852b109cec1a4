# SPDX-License-Identifier: MIT OR Apache-2.0
"""Messages as protoc reads them, by a schema of ours with the public numbers."""
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def decode(data, schema, message):
    """protoc's text as nested dicts of lists; a field by number is unknown."""
    subprocess.run(["protoc", "--decode_raw"], input=data, check=True,
                   stdout=subprocess.DEVNULL)
    text = subprocess.run(
        ["protoc", f"-I{HERE}", f"--decode=axprof_test.{message}",
         str(HERE / schema)], input=data, check=True,
        stdout=subprocess.PIPE).stdout.decode("utf-8")
    root = {}
    stack = [root]
    for line in text.split("\n"):
        line = line.strip()
        if not line:
            continue
        if line == "}":
            stack.pop()
            continue
        if line.endswith("{"):
            child = {}
            stack[-1].setdefault(line[:-2], []).append(child)
            stack.append(child)
            key = line[:-2]
        else:
            key, _, value = line.partition(": ")
            stack[-1].setdefault(key, []).append(scalar(value))
        if key.isdigit():
            raise AssertionError(f"{schema}: a field that is not known: {line}")
    return root


def scalar(text):
    if text.startswith('"'):
        raw = re.sub(r"\\([0-7]{3}|.)", unescape, text[1:-1])
        return raw.encode("latin-1").decode("utf-8")  # strict
    if text in ("true", "false"):
        return text == "true"
    return float(text) if re.search(r"[.enf]", text) else int(text)


def unescape(match):
    letters = {"n": "\n", "r": "\r", "t": "\t"}
    code = match.group(1)
    return chr(int(code, 8)) if code.isdigit() else letters.get(code, code)


def one(message, key, default=None):
    values = message.get(key, [default])
    assert len(values) == 1, f"several {key}"
    return values[0]

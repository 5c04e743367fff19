"""Reads interfaces of TypeScript declarations as descriptions of JSON values."""
import re

TOKEN = re.compile(r"""\s*(?:/\*.*?\*/|//[^\n]*)*\s*([A-Za-z_$][\w$]*|'[^']*'|"[^"]*"|[0-9]+|[{}\[\]()<>|&;:?,=.])""", re.S)
BASIC = {"string": ["string"], "number": ["integer", "number"], "boolean": ["boolean"], "true": ["boolean"],
         "false": ["boolean"], "null": ["null"], "undefined": []}
ANY = ["array", "boolean", "integer", "null", "number", "object", "string"]


def interfaces(text):
    """The interfaces of a file by name, each as a shape whose refs are names."""
    found = {}
    for m in re.finditer(r"(?:interface|type) (\w+)(?: extends ([\w, <>]+?))?\s*=?\s*(?:\w+ & )?(?=\{)", text):
        body, _ = value(text, m.end())
        found[m.group(1)] = (body, (m.group(2) or "").split(","))

    def whole(name):
        body, bases = found[name]
        for base in bases:
            if base.strip() in found:
                more = whole(base.strip())
                body["fields"] = {**more["fields"], **body["fields"]}
                body["required"] = sorted({*more["required"], *body["required"]})
        return body

    return {name: whole(name) for name in found}


def token(text, at):
    m = TOKEN.match(text, at)
    return (m.group(1), m.end()) if m else ("", len(text))


def value(text, at):
    """One type: a union or intersection of parts."""
    parts, both = [], False
    while True:
        part, at = single(text, at)
        word, after = token(text, at)
        while word == "[" and token(text, after)[0] == "]":
            part, at = {"type": ["array"], "items": part}, token(text, after)[1]
            word, after = token(text, at)
        parts.append(part)
        if word not in "|&" or not word:
            return union(parts, both), at
        both, at = both or word == "&", after


def single(text, at):
    word, at = token(text, at)
    if word == "|":  # before the first of several lines
        word, at = token(text, at)
    if word == "{":
        return members(text, at)
    if word == "(":
        inner, at = value(text, at)
        return inner, token(text, at)[1]
    if word[:1] in "'\"":
        return {"type": ["string"]}, at
    if word.isdigit():
        return {"type": ["integer"]}, at
    if word == "[":  # a tuple
        return {"type": ["array"]}, closing(text, at)
    if word in BASIC:
        return {"type": list(BASIC[word])}, at
    after, end = token(text, at)
    if after == "<" or after == "[" and token(text, end)[0] != "]":  # generic, or a field of another type
        return {"type": ANY}, closing(text, end)
    return {"type": ["object"], "ref": word}, at


def closing(text, at):
    """The place behind the bracket that closes the one before."""
    depth = 1
    while depth:
        word, at = token(text, at)
        depth += {"<": 1, "[": 1, ">": -1, "]": -1}.get(word, 0)
    return at


def members(text, at):
    out = {"type": ["object"], "fields": {}, "required": []}
    while True:
        name, at = token(text, at)
        if name == "}":
            return out, at
        if name in ";,":
            continue
        if name == "[":  # any key
            while token(text, at)[0] != ":" or name != "]":
                name, at = token(text, at)
            _, at = value(text, token(text, at)[1])
            return {"type": ["object"]}, token(text, skip(text, at))[1]
        mark, at = token(text, at)
        optional = mark == "?"
        if optional:
            _, at = token(text, at)
        out["fields"][name.strip("'\"")], at = value(text, at)
        if not optional and out["fields"][name.strip("'\"")]["type"]:
            out["required"].append(name.strip("'\""))


def skip(text, at):
    word, after = token(text, at)
    return after if word == ";" else at


def union(parts, both):
    if len(parts) == 1:
        return parts[0]
    out = {"type": sorted({t for p in parts for t in p["type"]})}
    objects = [p for p in parts if "object" in p["type"]]
    if both or len(objects) > 1:
        return out  # of which only the kind is known
    for p in parts:
        out.update({k: v for k, v in p.items() if k != "type"})
    return out


def describe(found, roots):
    """The shapes of roots and of all that they refer to; what is in another file is any object."""
    out, wanted = {}, list(roots)

    def mend(s):
        if "ref" in s:
            if s["ref"] in found:
                wanted.append(s["ref"])
            else:
                del s["ref"]
                s["type"] = sorted({*s["type"], *ANY}) if "object" in s["type"] else s["type"]
        for f in s.get("fields", {}).values():
            mend(f)
        if "items" in s:
            mend(s["items"])

    while wanted:
        name = wanted.pop()
        if name not in out:
            out[name] = found[name]
            mend(out[name])
    return out

"""The forms in which code and texts define a name, or describe an option."""

import re
from itertools import islice

MAX_OCCURRENCES = 20  # of a name in a text that are examined
_BEFORE, _AFTER = 200, 600  # characters around a name that tell whether it is defined there
_MODIFIERS = (
    "abstract|actual|alias|async|case|cdef|const|constexpr|CREATE|create|data|declare|default|enum|explicit|export|extern"
    "|extend|final|global|implicit|infix|inline|internal|lateinit|lazy|local|mut|open|operator|OR|override|partial"
    "|private|protected|pub|public|readonly|REPLACE|required|sealed|static|suspend|tailrec|UNIQUE|MATERIALIZED|TEMP"
    "|TEMPORARY|IF|NOT|EXISTS|ADD|unsafe|virtual|volatile|@\\w+|(?:pub|private|protected)[(\\[][\\w ]+[)\\]]"
)
_KEYWORDS = (
    "class|struct|enum|union|interface|@interface|trait|protocol|actor|record|object|module|defmodule|namespace|package"
    "|type|typedef|typealias|newtype|data|def|defp|defmacro|defun|defn|func|function|fn|fun|sub|proc|procedure|method"
    "|macro|macro_rules!|#define|define|impl|extension|delegate|using|given|const|static|let|var|val|event|message"
    "|service|rpc|input|scalar|mixin|@mixin|TABLE|VIEW|INDEX|TYPE|COLUMN|FUNCTION|PROCEDURE|TRIGGER|table|view|trigger"
)
_WORDS_BEFORE = rf"\s*(?:(?:{_MODIFIERS})[ \t]+)"
_SET = r"[ \t]*(?:\??:[^=\n]{1,80})?[?:+]?=(?![=>])"  # the value of a name, after its type
_TYPES = r"(?:[\w<>\[\]*&:,?.]+[ \t]+)"  # words before a name
_OWNER = r"[*&$]*(?:[\w<>, ]+(?:\.|::?))*\$?"  # what a name is a part of
_NO_CALL = (
    r"\s*(?!(?:return|else|new|await|throw|case|if|elif|for|while|yield|not|and|or|in|echo|print)\b"
    r"|(?i:where|and|or|on|set|having|select|update|delete|insert)\b)"
)
_ARROW = r"(?:async[ \t]+)?(?:function\b|\([^()\n]*\)[^=\n]{0,80}=>|\w+[ \t]*=>)"
_MEMBER = r"(?:<[^<>\n]*>)?\??\([^;{}]*\)\??[ \t]*:[ \t]*[^\s=;{}][^=;{}\n]*[;,]?[ \t]*(?:\n|$)"  # name(a: A): B;
# What is before a definition on its line, and what follows it.
_DEFINITIONS = tuple(
    (re.compile(before), re.compile(after))
    for before, after in (
        (rf"{_WORDS_BEFORE}*(?:{_KEYWORDS})[ \t*&]+(?:\([^()]*\)[ \t]*)?{_OWNER}", r"(?=[^\w.:]|:?$|:\s)"),  # def name(
        (rf"(?:(?:{_MODIFIERS}|ENV|ARG)[ \t]+)*(?:[\w.]+\.)?\$?", _SET),  # NAME = 1
        (rf"{_NO_CALL}{_TYPES}{{1,6}}[*&$]*", rf"{_SET}|[ \t]*(?:\[\w*\][ \t]*=|\{{[ \t]*get\b|=>)"),  # int name = 1
        (rf"{_WORDS_BEFORE}+{_TYPES}{{0,5}}[*&$]*", r"[ \t]*(?:;|=|\([^;{}]*\)[^;{}()]{0,80}(?:;|=>))"),
        (r"\s+", rf"[ \t]*(?:[:=][ \t]*{_ARROW}|{_MEMBER})"),  # of a class or an object
        (rf"{_NO_CALL}{_TYPES}*{_OWNER}", r"[ \t]*\([^;{}]*\)[^;{}()=]{0,80}\{"),  # void name() {
        (r"\s*case[ \t]+", r"(?=[ \t]*(?:=|,|\(|;|\n|$))(?![^\n]*(?::[ \t]*(?:\n|$)|[=-]>))"),  # of an enumeration
        (r'\s*(?:variable|output|module|resource|data|provider)[ \t]+(?:"[^"]*"[ \t]+)?"', r'"[ \t]*\{'),
        (r"\s*(?:attr_\w+|scope|has_many|has_one|belongs_to|define_method)[ \t(]+(?::\w+,[ \t]*)*:", r""),
        (r"\s*(?:-[ \t]+)?name:[ \t]*[\"']?", r"[\"']?[ \t]*(?:\n|$)"),  # of a resource in YAML
        (r"\s*@", r"[ \t]+[\"\d\[{~%:]"),  # an attribute of Elixir
        (r"\s*define\([\"']", r"[\"']"),
        (r"#{1,6}[ \t]+[`*\\]*", r"[`*]*[ \t]*(?:\(|\n|$)"),  # a heading in Markdown
        (r"[ \t]*`(?:[\w.]+\.)?", r"[^`\n]*`[ \t]*(?:\n|$)"),  # alone in a line, as a directive of reStructuredText
        (r"[`*]*", r"[^\n]{0,80}\n[ \t]*([=~^\"-])\1\1+[ \t]*(?:\n|$)"),  # an underlined heading
    )
)
_OPTION = re.compile(r"[ \t]*(?:[-*•][ \t]+)?[`*\\]*(?:-\w[`*\\]*,?[ \t]+[`*\\]*)?")  # before it where it is described

# A title such as "# INC-214: the lock", of a name with a digit; others before a colon are comments in programs
_TITLE, _COLON = re.compile(r"#{1,6}[ \t]+"), re.compile(r"[ \t]*[:\u2013\u2014]")


def is_defined(name: str, pattern: re.Pattern[str], body: str) -> bool:
    """Whether a text defines a name, or describes an option; `pattern` matches the name, or its last part."""
    for found in islice(pattern.finditer(body), MAX_OCCURRENCES):
        before = body[body.rfind("\n", 0, found.start()) + 1 : found.start()]
        after = body[found.end() : found.end() + _AFTER]
        if len(before) > _BEFORE:
            continue
        if found[0][0].isupper():  # a constant, which may be that of a class
            before = before.lstrip()
        if name.startswith("-"):
            if _OPTION.fullmatch(before):
                return True
            continue
        if any(start.fullmatch(before) and end.match(after) for start, end in _DEFINITIONS):
            return True
        if _TITLE.fullmatch(before) and _COLON.match(after) and any(map(str.isdigit, name)):
            return True
    return False

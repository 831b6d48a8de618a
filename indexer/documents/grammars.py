"""The grammar of each language, from a wheel of its own, which is imported when the first file of it is parsed."""

import ctypes
from functools import lru_cache
from importlib import import_module
from typing import Any

# The module of a language, and the function that returns its grammar where that is not `language`. Other languages are
# split by lines: no maintained wheel of their grammar has a free licence and runs on every system.
MODULES = {
    "ada": "tree_sitter_ada", "agda": "tree_sitter_agda", "arduino": "tree_sitter_arduino", "bash": "tree_sitter_bash",
    "bicep": "tree_sitter_bicep", "c": "tree_sitter_c", "commonlisp": "tree_sitter_commonlisp",
    "cpp": "tree_sitter_cpp", "csharp": "tree_sitter_c_sharp", "css": "tree_sitter_css", "cuda": "tree_sitter_cuda",
    "dart": "tree_sitter_dart", "dtd": "tree_sitter_xml.language_dtd",
    "elixir": "tree_sitter_elixir", "embeddedtemplate": "tree_sitter_embedded_template",
    "fortran": "tree_sitter_fortran", "fsharp": "tree_sitter_fsharp",
    "fsharp_signature": "tree_sitter_fsharp.language_signature", "glsl": "tree_sitter_glsl", "go": "tree_sitter_go",
    "groovy": "tree_sitter_groovy", "haskell": "tree_sitter_haskell", "hcl": "tree_sitter_hcl",
    "hlsl": "tree_sitter_hlsl", "java": "tree_sitter_java", "javascript": "tree_sitter_javascript",
    "json": "tree_sitter_json", "julia": "tree_sitter_julia", "kconfig": "tree_sitter_kconfig",
    "kdl": "tree_sitter_kdl", "kotlin": "tree_sitter_kotlin", "llvm": "tree_sitter_llvm", "lua": "tree_sitter_lua",
    "luau": "tree_sitter_luau", "make": "tree_sitter_make", "matlab": "tree_sitter_matlab", "nix": "tree_sitter_nix",
    "objc": "tree_sitter_objc", "ocaml": "tree_sitter_ocaml.language_ocaml",
    "ocaml_interface": "tree_sitter_ocaml.language_ocaml_interface", "odin": "tree_sitter_odin",
    "perl": "tree_sitter_perl", "php": "tree_sitter_php.language_php", "powershell": "tree_sitter_powershell",
    "puppet": "tree_sitter_puppet", "python": "tree_sitter_python", "ruby": "tree_sitter_ruby",
    "rust": "tree_sitter_rust", "scala": "tree_sitter_scala", "scss": "tree_sitter_scss",
    "solidity": "tree_sitter_solidity", "sql": "tree_sitter_sql", "starlark": "tree_sitter_starlark",
    "svelte": "tree_sitter_svelte", "swift": "tree_sitter_swift", "toml": "tree_sitter_toml",
    "tsx": "tree_sitter_typescript.language_tsx", "typescript": "tree_sitter_typescript.language_typescript",
    "verilog": "tree_sitter_verilog", "vhdl": "tree_sitter_vhdl", "xml": "tree_sitter_xml.language_xml",
    "yaml": "tree_sitter_yaml", "zig": "tree_sitter_zig",
}  # fmt: skip
_CAPSULE = b"tree_sitter.Language"  # the name that the libraries expect; a capsule keeps no copy of it


@lru_cache
def grammar_of(language: str) -> Any:
    """The grammar in the form that tree-sitter and the splitter take; None if its wheel is not installed."""
    module, _, function = MODULES.get(language, "").partition(".")
    if not module:
        return None
    try:
        grammar = getattr(import_module(module), function or "language")()
    except ImportError:  # the wheel is in the extra `grammars`
        return None
    return _capsule(grammar) if isinstance(grammar, int) else grammar


def _capsule(address: int) -> Any:
    """The address that some wheels return, as the object that the others return."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(address, _CAPSULE, None)

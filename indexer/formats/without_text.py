"""Kinds of files without text to search, such as images. They are ignored, not reported as skipped."""

_SUFFIXES = {
    "image": ".png .jpg .jpeg .gif .bmp .ico .icns .webp .avif .heic .heif .tif .tiff .svg .psd .xcf .raw .cr2 .nef",
    "sound": ".mp3 .wav .ogg .oga .opus .flac .aac .m4a .wma .aiff .mid .midi",
    "video": ".mp4 .m4v .mkv .mov .avi .webm .wmv .flv .mpg .mpeg .ogv",
    "font": ".ttf .otf .woff .woff2 .eot .pfb",
    "compiled code": ".pyc .pyo .pyd .o .obj .a .lib .so .dll .dylib .exe .class .wasm .elc .mo .map",
}
WITHOUT_TEXT = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}

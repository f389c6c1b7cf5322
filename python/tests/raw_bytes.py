"""Looks for texts in the raw bytes of every file of a store. It shares no code with the program: it reads docs/format.md.

    python3 raw_bytes.py STORE TEXT...

prints each place as `FILE: ENCODING` and exits with 1 if there is one. Compressed segments are opened block by block, and
whatever else looks like a frame of Zstandard. A text that lies across two blocks is found, since the image is put
together first.
"""

import base64
import json
import pathlib
import struct
import sys
import urllib.parse

import zstandard

COMPRESSED = b"MEMSEGZ\n"
ZSTANDARD = b"\x28\xb5\x2f\xfd"
# Bytes of the header of a compressed segment, and of an entry of its table.
HEADER, ENTRY = 64, 8
LONGEST = 1 << 31


def encodings(text):
    """The text as programs may write it, by name."""
    utf8 = text.encode()
    found = {
        "UTF-8": utf8,
        "lower case": text.lower().encode(),
        "UTF-16, little-endian": text.encode("utf-16-le"),
        "UTF-16, big-endian": text.encode("utf-16-be"),
        "escapes of JSON": json.dumps(text)[1:-1].encode(),
        "escapes within JSON": json.dumps(json.dumps(text)[1:-1])[1:-1].encode(),
        "percent signs": urllib.parse.quote(text).encode(),
        "hexadecimal": utf8.hex().encode(),
        "hexadecimal, upper case": utf8.hex().upper().encode(),
        "backwards": utf8[::-1],
    }
    # Of three positions in a longer text, without the characters that depend on the bytes around it.
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + utf8)
        part = whole[(0, 2, 3)[shift] : len(whole) // 4 * 4 - 4]
        found[f"base64, {shift}"] = part
        found[f"base64 of addresses, {shift}"] = part.replace(b"+", b"-").replace(b"/", b"_")
    return {name: needle for name, needle in found.items() if len(needle) >= 6}


def image(data):
    """The image of a compressed segment, from its first good table; None for another file."""
    for header in (data[:HEADER], data[-HEADER:]):
        if header[:8] == COMPRESSED:
            break
    else:
        return None
    length, block, words = struct.unpack_from("<III", header, 32)
    blocks = -(-length // block)
    dictionary = data[HEADER : HEADER + words]
    table = [struct.unpack_from("<II", data, HEADER + words + ENTRY * n)[0] for n in range(blocks)]
    table.append(len(data) - HEADER - ENTRY * blocks - words)
    loaded = zstandard.ZstdCompressionDict(dictionary) if words else None
    decompressor = zstandard.ZstdDecompressor(dict_data=loaded)
    out = bytearray()
    for number, (begin, end) in enumerate(zip(table, table[1:])):
        raw = data[begin:end]
        bytes_of_image = min(block, length - number * block)
        whole = raw if len(raw) == bytes_of_image else decompressor.decompress(raw, max_output_size=bytes_of_image)
        assert len(whole) == bytes_of_image, f"block {number} gives {len(whole)} bytes"
        out += whole
    return bytes(out)


def frames(data):
    """What is in anything that begins as a frame of Zstandard does."""
    at = data.find(ZSTANDARD)
    while at >= 0:
        try:
            yield zstandard.ZstdDecompressor().decompressobj().decompress(data[at:])
        except zstandard.ZstdError:
            pass
        at = data.find(ZSTANDARD, at + 1)


def scan(store, texts):
    """The places of texts in the files below a directory, each as (file, encoding)."""
    needles = [(name, needle) for text in texts for name, needle in encodings(text).items()]
    found, files, size = [], 0, 0
    for path in sorted(pathlib.Path(store).rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        data = path.read_bytes()
        assert len(data) < LONGEST, path
        opened = image(data)
        views = [data, *([opened] if opened is not None else frames(data))]
        files, size = files + 1, size + sum(map(len, views))
        for view in views:
            lower = view.lower()
            for name, needle in needles:
                if needle in view or needle.lower() in lower:
                    found.append((str(path), name))
        for name, needle in needles:
            if needle in str(path).encode():
                found.append((str(path), f"name of the file, {name}"))
    return found, files, size


def main(arguments):
    store, *texts = arguments
    found, files, size = scan(store, texts)
    for path, name in found:
        print(f"{path}: {name}")
    print(f"{len(found)} found in {files} files, {size} bytes with what was opened", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

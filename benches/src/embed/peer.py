"""Embeds texts for the group `embed` with sentence-transformers or with onnxruntime and tokenizers.

Reads one JSON value a line and answers each with one: {"texts": [...]} times one run over the texts,
{"vectors": [...]} gives their vectors.
"""

import json
import sys
import time

import numpy

ARGUMENTS = json.loads(sys.argv[1])


def sentence_transformers():
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(ARGUMENTS["threads"])
    model = SentenceTransformer(ARGUMENTS["directory"], device="cpu", local_files_only=True)
    batch = None

    def embed(texts):
        # Sorted by length inside. The default batch is 32; smaller ones may be faster on a processor.
        nonlocal batch
        if batch is None:
            batch = min((timed(lambda: model.encode(texts, batch_size=size)), size) for size in (32, 16, 8))[1]
        return model.encode(texts, batch_size=batch, normalize_embeddings=True)

    return embed


def onnxruntime(in_order):
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = ARGUMENTS["threads"]
    session = onnxruntime.InferenceSession(ARGUMENTS["graph"], options)
    names = {value.name for value in session.get_inputs()}
    tokenizer = Tokenizer.from_file(ARGUMENTS["directory"] + "/tokenizer.json")
    tokenizer.enable_truncation(ARGUMENTS["max_tokens"])
    tokenizer.enable_padding()

    def embed(texts, batch=32):
        order = range(len(texts)) if in_order else sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        vectors = [None] * len(texts)
        for start in range(0, len(texts), batch):
            places = list(order[start : start + batch])
            encoded = tokenizer.encode_batch([texts[at] for at in places])
            ids = numpy.array([row.ids for row in encoded], dtype=numpy.int64)
            mask = numpy.array([row.attention_mask for row in encoded], dtype=numpy.int64)
            inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
            hidden = session.run(None, {name: value for name, value in inputs.items() if name in names})[0]
            weights = mask[..., None].astype(numpy.float32)
            pooled = (hidden * weights).sum(1) / weights.sum(1)
            pooled /= numpy.linalg.norm(pooled, axis=1, keepdims=True)
            for at, vector in zip(places, pooled):
                vectors[at] = vector
        return numpy.array(vectors)

    return embed


def products():
    """The matrix products of the linear layers alone, without padding: about what a 32-bit encoder does at least."""
    from concurrent.futures import ThreadPoolExecutor

    import torch
    from tokenizers import Tokenizer

    # A thread a processor that shares no product with another is faster than one product on all of them.
    torch.set_num_threads(1)
    pool = ThreadPoolExecutor(ARGUMENTS["threads"])
    with open(ARGUMENTS["directory"] + "/config.json", encoding="utf-8") as file:
        config = json.load(file)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    shapes = [(hidden, hidden)] * 4 + [(hidden, inner), (inner, hidden)]
    layers = [torch.nn.Linear(*shape) for _ in range(config["num_hidden_layers"]) for shape in shapes]
    # As many rows as ours has in a batch.
    block = 256
    rows = {width: torch.randn(block, width) for width in (hidden, inner)}
    tokenizer = Tokenizer.from_file(ARGUMENTS["directory"] + "/tokenizer.json")
    tokenizer.enable_truncation(ARGUMENTS["max_tokens"])
    tokenizer.no_padding()
    counts = {}

    def multiply(count):
        with torch.inference_mode():
            for layer in layers:
                layer(rows[layer.in_features][:count])

    def run(texts):
        # Counted in the round that warms up.
        key = tuple(texts)
        if key not in counts:
            counts[key] = sum(len(row.ids) for row in tokenizer.encode_batch(texts))
        count = counts[key]
        list(pool.map(multiply, [min(block, count - start) for start in range(0, count, block)]))

    return run


def timed(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


KINDS = {
    "sentence-transformers": sentence_transformers,
    "onnxruntime": lambda: onnxruntime(True),
    "onnxruntime, sorted by length": lambda: onnxruntime(False),
    "matrix products alone": products,
}


def main():
    embed = KINDS[ARGUMENTS["kind"]]()
    for line in sys.stdin:
        asked = json.loads(line)
        if "texts" in asked:
            answer = {"seconds": timed(lambda: embed(asked["texts"]))}
        else:
            answer = {"vectors": [[float(x) for x in vector] for vector in embed(asked["vectors"])]}
        sys.__stdout__.write(json.dumps(answer) + "\n")
        sys.__stdout__.flush()


main()

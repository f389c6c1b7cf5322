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


def timed(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


KINDS = {
    "sentence-transformers": sentence_transformers,
    "onnxruntime": lambda: onnxruntime(True),
    "onnxruntime, sorted by length": lambda: onnxruntime(False),
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

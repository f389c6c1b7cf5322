"""The questions of the benchmark asked of LangChain: its vector store, with a model of ONNX.

Usage: langchain_peer.py MODEL HALF... where MODEL is a directory with model.onnx and tokenizer.json.
Prints a row for each language: questions of each kind whose answer is among ten hits, of all.
"""

import collections
import json
import pathlib
import sys

import numpy
import onnxruntime
import tokenizers
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

KINDS = ("own", "other", "across")


class Onnx(Embeddings):
    """Mean of the last layer, normalized, as sentence-transformers pools MiniLM."""

    def __init__(self, directory):
        self.session = onnxruntime.InferenceSession(str(directory / "model.onnx"))
        self.names = {value.name for value in self.session.get_inputs()}
        self.tokenizer = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.tokenizer.enable_truncation(256)
        self.tokenizer.enable_padding()

    def embed_documents(self, texts):
        rows = []
        for first in range(0, len(texts), 32):
            encoded = self.tokenizer.encode_batch(texts[first : first + 32])
            ids = numpy.array([row.ids for row in encoded], dtype=numpy.int64)
            mask = numpy.array([row.attention_mask for row in encoded], dtype=numpy.int64)
            inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
            given = {name: value for name, value in inputs.items() if name in self.names}
            weights = mask[..., None].astype(numpy.float32)
            pooled = (self.session.run(None, given)[0] * weights).sum(1) / weights.sum(1)
            rows.extend((pooled / numpy.linalg.norm(pooled, axis=1, keepdims=True)).tolist())
        return rows

    def embed_query(self, text):
        return self.embed_documents([text])[0]


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main():
    model = Onnx(pathlib.Path(sys.argv[1]))
    asked, found = collections.Counter(), collections.Counter()
    for half in map(pathlib.Path, sys.argv[2:]):
        stores = {}
        for conversation in lines(half / "conversations.jsonl"):
            store = stores[conversation["conversation_id"]] = InMemoryVectorStore(model)
            turns = conversation["turns"]
            store.add_texts([turn["text"] for turn in turns], [{"turn": turn["turn_id"]} for turn in turns])
        for query in lines(half / "queries.jsonl"):
            hits = stores[query["conversation_id"]].similarity_search(query["question"], k=10)
            asked[query["category"]] += 1
            wanted = set(query["evidence"])
            found[query["category"]] += any(hit.metadata["turn"] in wanted for hit in hits)
    for language in sorted({category.split()[0] for category in asked}):
        cells = (f"{kind} {found[f'{language} {kind}']} of {asked[f'{language} {kind}']}" for kind in KINDS)
        print(f"| {language} | " + " | ".join(cells) + " |")


main()

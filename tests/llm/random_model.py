#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tiny language model with random weights: random_model.py VOCABULARY.gguf MODEL.gguf

Takes the tokenizer of one of llama.cpp's ggml-vocab files (architecture llama) and gives it two layers of 64. What
it says means nothing; how a server speaks with it is real.
"""
import random
import struct
import sys

U32, FLOAT32, FLOAT16, STRING, ARRAY = 4, 0, 1, 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
WIDTH, INNER, HEADS, LAYERS, CONTEXT, ALIGNMENT = 64, 128, 4, 2, 32768, 32


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0]

    def text(self):
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size:self.at]

    def skip(self, kind):
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            inner, count = self.take("I"), self.take("Q")
            for _ in range(count):
                self.skip(inner)
        else:
            self.at += SIZES[kind]

    def entries(self):
        """Key, type and the bytes of the value."""
        self.at = 16
        for _ in range(self.take("Q")):
            key, kind = self.text(), self.take("I")
            begin = self.at
            self.skip(kind)
            yield key.decode(), kind, self.data[begin:self.at]


def as_text(text):
    return struct.pack("<Q", len(text)) + text.encode()


def tensors(words):
    yield "token_embd.weight", (WIDTH, words)
    yield "output_norm.weight", (WIDTH,)
    for layer in range(LAYERS):
        for name, shape in (("attn_norm", (WIDTH,)), ("attn_q", (WIDTH, WIDTH)), ("attn_k", (WIDTH, WIDTH)),
                            ("attn_v", (WIDTH, WIDTH)), ("attn_output", (WIDTH, WIDTH)), ("ffn_norm", (WIDTH,)),
                            ("ffn_gate", (WIDTH, INNER)), ("ffn_up", (WIDTH, INNER)), ("ffn_down", (INNER, WIDTH))):
            yield f"blk.{layer}.{name}.weight", shape


def values(shape):
    count = 1
    for size in shape:
        count *= size
    if len(shape) == 1:
        return struct.pack(f"<{count}f", *[1.0] * count)
    draw = random.Random(count).gauss
    return struct.pack(f"<{count}e", *[draw(0, 0.3) for _ in range(count)])


def main():
    with open(sys.argv[1], "rb") as file:
        entries = {key: (kind, value) for key, kind, value in Reader(file.read()).entries()}
    words = struct.unpack_from("<Q", entries["tokenizer.ggml.tokens"][1], 4)[0]
    for name, value in (("context_length", CONTEXT), ("embedding_length", WIDTH), ("block_count", LAYERS),
                        ("feed_forward_length", INNER), ("attention.head_count", HEADS),
                        ("attention.head_count_kv", HEADS), ("rope.dimension_count", WIDTH // HEADS),
                        ("vocab_size", words)):
        entries["llama." + name] = (U32, struct.pack("<I", value))
    listed, data = b"", b""
    made = list(tensors(words))
    for name, shape in made:
        listed += as_text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape,
                                              FLOAT32 if len(shape) == 1 else FLOAT16, len(data))
        data += values(shape)
        data += bytes(-len(data) % ALIGNMENT)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(made), len(entries))
    for key, (kind, value) in entries.items():
        head += as_text(key) + struct.pack("<I", kind) + value
    head += listed
    with open(sys.argv[2], "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + data)


main()

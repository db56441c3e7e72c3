#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model service with faults, for the conformance tests: every protocol, one fault per model's name.

  fault_server.py PORT_FILE [--tls CERT KEY]

Listens on 127.0.0.1, writes its port to PORT_FILE, and answers until it is killed. The fault is part
of the model's name ("fault-stall"), the answer is "Hello ä" unless the fault says otherwise. What it was sent
can be read at GET /log (one JSON object a line; headers included).
"""
import email.utils
import http.server
import json
import os
import re
import socket
import ssl
import struct
import sys
import threading
import time
import zlib

ANSWER = ["Hel", "lo", " ä"]
seen = {}  # how often a model was asked
log = []
lock = threading.Lock()


def frame(name, payload, kind="event"):
    """A frame of Amazon's event stream."""
    headers = b""
    for key, value in ((f":{kind}-type", name), (":message-type", kind)):
        headers += bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    text = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return text + struct.pack(">I", zlib.crc32(text))


def event(data, name=None):
    return (f"event: {name}\n" if name else "").encode() + b"data: " + (
        data if isinstance(data, bytes) else json.dumps(data, ensure_ascii=False).encode()) + b"\n\n"


class Chat:
    mime = "text/event-stream"

    def head(self, model):
        return [event({"model": model, "choices": [{"delta": {"role": "assistant", "content": None}}]})]

    def piece(self, text):
        return event({"choices": [{"delta": {"content": text}}]})

    def tail(self):
        return [event({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
                event({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5,
                                                "prompt_tokens_details": {"cached_tokens": 4}}}),
                event(b"[DONE]")]

    def error(self, kind, text):
        return {"error": {"type": kind, "message": text}}

    def broken(self):
        """An event whose JSON ends too early."""
        return event(b'{"choices":[{"delta":{"conte')

    def overloaded(self):
        """An error in the midst of a stream that began well."""
        return event(self.error("overloaded_error", "too much to do"))


class Responses(Chat):
    def head(self, model):
        return [event({"type": "response.created", "response": {"model": model}}, "response.created")]

    def piece(self, text):
        return event({"type": "response.output_text.delta", "delta": text}, "response.output_text.delta")

    def tail(self):
        return [event({"type": "response.completed", "response": {"status": "completed", "usage": {
            "input_tokens": 11, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5}}})]

    def overloaded(self):
        return event({"type": "error", "code": "server_error", "message": "too much to do"}, "error")


class Messages(Chat):
    def head(self, model):
        return [event({"type": "message_start", "message": {"model": model, "usage": {
            "input_tokens": 7, "cache_read_input_tokens": 4, "output_tokens": 1}}}), event({"type": "ping"})]

    def piece(self, text):
        return event({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}})

    def tail(self):
        return [event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
                event({"type": "message_stop"})]

    def error(self, kind, text):
        return {"type": "error", "error": {"type": kind, "message": text}}


class Gemini(Chat):
    def head(self, model):
        self.model = model
        return []

    def piece(self, text):
        return event({"modelVersion": self.model, "candidates": [{"content": {"parts": [{"text": text}]}}]})

    def tail(self):
        return [event({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}],
                       "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 5,
                                         "cachedContentTokenCount": 4}})]

    def error(self, kind, text):
        return {"error": {"status": kind, "message": text, "code": 400}}

    def overloaded(self):
        return event({"error": {"status": "UNAVAILABLE", "message": "too much to do", "code": 503}})


class Converse(Chat):
    mime = "application/vnd.amazon.eventstream"

    def head(self, model):
        return [frame("messageStart", b'{"role":"assistant"}')]

    def piece(self, text):
        return frame("contentBlockDelta", json.dumps({"delta": {"text": text}}).encode())

    def tail(self):
        return [frame("messageStop", b'{"stopReason":"end_turn"}'),
                frame("metadata", b'{"usage":{"inputTokens":7,"cacheReadInputTokens":4,"outputTokens":5}}')]

    def error(self, kind, text):
        return {"__type": kind, "message": text}

    def broken(self):
        return frame("contentBlockDelta", b'{"delta":{"te')

    def overloaded(self):
        return frame("modelStreamErrorException", b'{"message":"too much to do"}', kind="exception")


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        with lock:
            self.whole(200, b"".join(json.dumps(entry).encode() + b"\n" for entry in log), "text/plain")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path
        model, words = self.words_for(path, json.loads(body))
        with lock:
            seen[model] = turn = seen.get(model, 0) + 1
            log.append({"path": path, "headers": dict(self.headers.items()), "body": body.decode()})
        fault = model.removeprefix("fault-").split("/")[0]
        try:
            getattr(self, "fault_" + fault.replace("-", "_"), self.fault_none)(model, words, turn)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def words_for(self, path, body):
        if "/chat/completions" in path:
            deployment = re.search(r"/deployments/([^/]+)/", path)
            return (deployment[1] if deployment else body["model"]), Chat()
        if path.endswith("/responses"):
            return body["model"], Responses()
        if path.endswith("/messages"):
            return body["model"], Messages()
        if ":streamGenerateContent" in path:
            return re.search(r"/models/([^:]+):", path)[1], Gemini()
        return re.search(r"/model/([^/]+)/", path)[1], Converse()

    # -- ways to answer

    def whole(self, status, body, mime="application/json", **headers):
        self.send_response(status)
        self.send_header("content-type", mime)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def start(self, mime):
        self.send_response(200)
        self.send_header("content-type", mime)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def stream(self, model, words, pieces=ANSWER, tail=True):
        self.start(words.mime)
        for part in words.head(model):
            self.chunk(part)
        for text in pieces:
            self.chunk(words.piece(text))
        if tail:
            for part in words.tail():
                self.chunk(part)
            self.chunk(b"")

    def cut(self):
        """Resets the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def refuse(self, words, status, kind, text, **headers):
        self.whole(status, json.dumps(words.error(kind, text)).encode(), **headers)

    # -- faults, by name

    def fault_none(self, model, words, turn):
        self.stream(model, words)

    def fault_json(self, model, words, turn):
        self.stream(model, words, ['{"word": "cu', 'co", "sum": 42}'])

    def fault_slow_first_byte(self, model, words, turn):
        time.sleep(0.7)
        self.stream(model, words)

    def fault_silent(self, model, words, turn):
        """Says nothing the first time."""
        if turn == 1:
            time.sleep(20)
        self.stream(model, words)

    def fault_stall(self, model, words, turn):
        """Falls silent in the middle the first time, and resets the connection when it wakes up."""
        if turn > 1:
            return self.stream(model, words)
        self.stream(model, words, ["WRONG"], tail=False)
        time.sleep(20)
        self.cut()

    def fault_stall_for_ever(self, model, words, turn):
        self.stream(model, words, ["WRONG"], tail=False)
        time.sleep(60)

    def fault_busy(self, model, words, turn):
        if turn > 1:
            return self.stream(model, words)
        self.refuse(words, 429, "rate_limit_error", "slow down", Retry_After="1")

    def fault_busy_date(self, model, words, turn):
        if turn > 1:
            return self.stream(model, words)
        self.refuse(words, 429, "rate_limit_error", "slow down",
                    Retry_After=email.utils.formatdate(time.time() + 2, usegmt=True))

    def fault_busy_for_an_hour(self, model, words, turn):
        self.refuse(words, 429, "rate_limit_error", "slow down", Retry_After="3600")

    def fault_no_money(self, model, words, turn):
        self.refuse(words, 429, "insufficient_quota", "you exceeded your current quota")

    def fault_twice_500(self, model, words, turn):
        if turn > 2:
            return self.stream(model, words)
        self.refuse(words, 500, "server_error", "oops")

    def fault_always_500(self, model, words, turn):
        self.refuse(words, 500, "server_error", "oops")

    def fault_truncated_json(self, model, words, turn):
        if turn > 1:
            return self.stream(model, words)
        self.whole(200, b'{"choices":[{"message":{"conte')

    def fault_garbage(self, model, words, turn):
        self.whole(200, b"<html>login</html>", "text/html")

    def fault_invalid_utf8(self, model, words, turn):
        if turn > 1:
            return self.stream(model, words)
        self.start(words.mime)
        bad = words.piece("@").replace(b"@", b"\xff\xfe")
        if isinstance(words, Converse):
            bad = frame("contentBlockDelta", b'{"delta":{"text":"\xff\xfe"}}')
        self.chunk(bad)
        for part in words.tail():
            self.chunk(part)
        self.chunk(b"")

    def fault_huge(self, model, words, turn):
        self.stream(model, words, ["x" * 100000] * 100)

    def fault_huge_whole(self, model, words, turn):
        self.whole(200, b'{"x":"' + b"x" * 12_000_000 + b'"}')

    def fault_wrong_model(self, model, words, turn):
        self.refuse(words, 404, "not_found_error", f"model '{model}' does not exist")

    def fault_other_model(self, model, words, turn):
        self.stream("quite-another-one", words)

    def fault_reset(self, model, words, turn):
        if turn > 1:
            return self.stream(model, words)
        self.cut()

    def fault_reset_in_stream(self, model, words, turn):
        if turn > 1:
            return self.stream(model, words)
        self.stream(model, words, ["WRONG"], tail=False)
        self.cut()

    def fault_ends_early(self, model, words, turn):
        """A stream that ends in good order, but without its last event."""
        if turn > 1:
            return self.stream(model, words)
        self.stream(model, words, ["WRONG"], tail=False)
        self.chunk(b"")

    def fault_truncated_event(self, model, words, turn):
        if turn > 1:
            return self.stream(model, words)
        self.stream(model, words, ["WRONG"], tail=False)
        self.chunk(words.broken())
        self.chunk(b"")

    def fault_overloaded_in_stream(self, model, words, turn):
        if turn > 1:
            return self.stream(model, words)
        self.stream(model, words, ["WRONG"], tail=False)
        self.chunk(words.overloaded())
        self.chunk(b"")

    def fault_passing_statuses(self, model, words, turn):
        if turn > 3:
            return self.stream(model, words)
        self.refuse(words, (408, 409, 503)[turn - 1], "try_again", "not now")

    def fault_echoes_key(self, model, words, turn):
        self.refuse(words, 401, "authentication_error", "wrong headers: " + json.dumps(dict(self.headers.items())))

    def fault_empty(self, model, words, turn):
        self.stream(model, words, [])

    def fault_redirect(self, model, words, turn):
        self.whole(302, b"", location="http://127.0.0.1:1/elsewhere")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Clients give calls up and connections are cut: that is what this is for."""


def main():
    server = Server(("127.0.0.1", 0), Service)
    if "--tls" in sys.argv:
        at = sys.argv.index("--tls")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[at + 1], sys.argv[at + 2])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(sys.argv[1] + ".new", "w", encoding="ascii") as file:
        file.write(str(server.server_address[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


main()

"""Counts of a dsh log, made without daglog: the golden numbers of fixtures.test.ts.

    python3 count-dsh.py FILE

Tokens are those of all calls of a model: of messages, and of the summaries that compactions asked for.
"""
import json
import sys


def kinds(blocks, kind):
    blocks = blocks if isinstance(blocks, list) else []
    return sum(block.get("type") == kind for block in blocks)


def main(path):
    counts = dict.fromkeys(["turns", "calls", "messages", "inputTokens", "outputTokens"], 0)
    with open(path, "rb") as file:
        for line in file:
            record = json.loads(line)
            kind, data = record["type"], record.get("data", {})
            message = data.get("message", {})
            counts["turns"] += kind == "turn/start"
            replaces = isinstance(record.get("surfaceOp"), dict)
            counts["messages"] += (kind == "user/message" and not replaces) or kind == "assistant/message"
            if kind == "assistant/message":
                counts["calls"] += kinds(message["content"], "tool-call")
            if kind == "tool/result":
                counts["messages"] += kinds(message["content"], "tool-result")
            usage = data.get("usage") or {}
            for name in ("inputTokens", "cacheReadTokens", "cacheWriteTokens"):
                counts["inputTokens"] += usage.get(name, 0)
            counts["outputTokens"] += usage.get("outputTokens", 0)
    print(json.dumps({"faults": 0, "own": counts, "side": dict.fromkeys(counts, 0)}))


main(sys.argv[1])

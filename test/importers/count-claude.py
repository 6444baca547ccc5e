"""Counts of a Claude Code transcript, made without daglog: the golden numbers of fixtures.test.ts.

    python3 count-claude.py FILE

Tokens go by message id: the statement with most output counts, once. Lines of sidechains inside a
session's file are counted by themselves.
"""
import json
import re
import sys

LOCAL = re.compile(
    r"<local-command-(stdout|stderr|caveat)>|<command-(name|message)>|<bash-(input|stdout|stderr)>"
    r"|Caveat: The messages below were generated")


def blocks(content):
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def kind(block):
    return block.get("type") if isinstance(block, dict) else None


def count(records):
    messages, calls, results, users, prompts, turns, is_open = {}, 0, 0, 0, 0, 0, False
    for record in records:
        message = record.get("message")
        if not isinstance(message, dict):
            is_open = is_open and not (
                record.get("type") == "system" and record.get("subtype") == "turn_duration")
            continue
        parts = blocks(message.get("content"))
        if record.get("type") == "assistant":
            if not is_open:
                turns, is_open = turns + 1, True
            known = messages.setdefault(message.get("id") or object(), {"output_tokens": -1})
            usage = message.get("usage") or {}
            if usage.get("output_tokens", 0) >= known["output_tokens"]:
                known.update(usage)
            calls += sum(kind(part) == "tool_use" for part in parts)
        elif record.get("type") == "user" and not record.get("isCompactSummary"):
            answers = [part for part in parts if kind(part) == "tool_result"]
            results += len(answers)
            if len(parts) > len(answers):
                users += 1
                first = next((part["text"] for part in parts if kind(part) == "text"), "")
                if first.startswith("[Request interrupted by user"):
                    is_open = False
                elif not record.get("isMeta") and not answers and not LOCAL.match(first):
                    turns, is_open = turns + 1, True
    tokens = messages.values()
    return {
        "turns": turns,
        "calls": calls,
        "messages": users + results + len(messages),
        "inputTokens": sum(
            use.get("input_tokens", 0) + use.get("cache_read_input_tokens", 0)
            + use.get("cache_creation_input_tokens", 0) for use in tokens),
        "outputTokens": sum(max(0, use["output_tokens"]) for use in tokens),
    }


def main(path):
    records, bad = [], 0
    with open(path, "rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                bad += 1
                continue
            if isinstance(record, dict):
                records.append(record)
    alone = next((r["isSidechain"] for r in records if isinstance(r.get("isSidechain"), bool)), False)
    own = [record for record in records if alone or record.get("isSidechain") is not True]
    side = [record for record in records if not alone and record.get("isSidechain") is True]
    print(json.dumps({"faults": bad, "own": count(own), "side": count(side)}))


main(sys.argv[1])

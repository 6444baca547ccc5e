"""Counts of a Codex rollout, made without daglog: the golden numbers of test/fold/readers/codex.test.ts.

    python3 count-codex.py FILE

Texts are compared as a bag per stretch between tool calls; no pairing by order, unlike the reader.
"""
import json
import sys

USAGE = ["input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"]
CALLS = {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
RESULTS = {"function_call_output", "custom_tool_call_output", "tool_search_output"}


def texts(content):
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or [] if isinstance(part, dict) and "text" in part]


def main(path):
    counts = dict.fromkeys(
        ["lines", "turns", "completed", "aborted", "users", "answers", "thoughts", "calls", "results"], 0)
    tokens = dict.fromkeys(USAGE, 0)
    before = None
    spoken = {"user": [], "assistant": []}
    with open(path, "rb") as file:
        for line in file:
            counts["lines"] += 1
            record = json.loads(line)
            payload = record.get("payload", record)
            kind = payload.get("type")
            if record.get("type") == "response_item":
                if kind == "message":
                    role = "assistant" if payload["role"] == "assistant" else "user"
                    said = "".join(texts(payload["content"])).strip()
                    if ("event", said) in spoken[role]:
                        spoken[role].remove(("event", said))
                    else:
                        counts["answers" if role == "assistant" else "users"] += 1
                        spoken[role].append(("item", said))
                counts["thoughts"] += kind == "reasoning"
                counts["calls"] += kind in CALLS
                counts["results"] += kind in RESULTS
                if kind in CALLS or kind in RESULTS:
                    spoken = {"user": [], "assistant": []}
            elif record.get("type") == "event_msg":
                counts["turns"] += kind in ("task_started", "turn_started")
                counts["completed"] += kind in ("task_complete", "turn_complete")
                counts["aborted"] += kind == "turn_aborted"
                if kind in ("user_message", "agent_message"):
                    role = "user" if kind == "user_message" else "assistant"
                    said = payload["message"].strip()
                    if ("item", said) in spoken[role]:
                        spoken[role].remove(("item", said))
                    else:
                        counts["answers" if role == "assistant" else "users"] += 1
                        spoken[role].append(("event", said))
                if kind == "token_count" and payload.get("info"):
                    total = [payload["info"]["total_token_usage"].get(name, 0) for name in USAGE]
                    if total != before:
                        for name in USAGE:
                            tokens[name] += payload["info"]["last_token_usage"].get(name, 0)
                    before = total
    print(json.dumps({**counts, "tokens": [tokens[name] for name in USAGE]}))


main(sys.argv[1])

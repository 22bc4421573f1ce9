"""Sessions to measure with."""
import json
import random


def cassette(path, number, messages):
    """A generated session, with bodies of 140 and 800 bytes."""
    dice, t = random.Random(number), 0
    words = [f"{dice.getrandbits(40):x}" for _ in range(500)]
    with path.open("w") as f:
        print(json.dumps({"format": "mcp-interposer-cassette", "version": 1, "name": f"server-{number % 7}",
                          "started_at_us": 1795385739271421 + number * 10**9}), file=f)
        for i in range(messages // 2):
            t += 1000
            ask = {"jsonrpc": "2.0", "id": i, "method": "tools/call",
                   "params": {"name": f"tool-{i % 9}", "arguments": {"query": " ".join(dice.choices(words, k=4))}}}
            text = " ".join(dice.choices(words, k=65))
            answer = {"jsonrpc": "2.0", "id": i, "result": {"content": [{"type": "text", "text": text}]}}
            print(json.dumps({"t": t, "dir": "c2s", "msg": ask}), file=f)
            print(json.dumps({"t": t + 500, "dir": "s2c", "msg": answer}), file=f)
        print(json.dumps({"end": True, "messages": messages // 2 * 2}), file=f)

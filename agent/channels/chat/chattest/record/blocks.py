"""Judges lists of blocks, one in each line of the input, by the models of slack-sdk."""
import json, sys, warnings
from slack_sdk.models import blocks as models

warnings.simplefilter("error")  # unknown fields are only warned of
count = 0
for line in sys.stdin:
    for raw in json.loads(line):
        block = models.Block.parse(raw)
        if block is None or type(block) is models.Block:
            sys.exit(f"unknown: {raw}")
        block.validate_json()
        for row in raw.get("rows", []):
            for cell in row:
                cell = models.RawTextObject(text=cell["text"]) if cell["type"] == "raw_text" else models.RichTextBlock(**cell)
                cell.validate_json()
        if json.loads(json.dumps(block.to_dict())) != raw:
            sys.exit(f"{raw} is read as {block.to_dict()}")
        count += 1
if not count:
    sys.exit("no blocks were judged")
print(count, "blocks are as slack-sdk has them")

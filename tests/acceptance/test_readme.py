"""The README's example, as it stands there, against a model that answers as one would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vardy_api.stack import Stack
from vardy_worker.demo.phrases import Answer
from vardy_worker.demo.scripted import ScriptedModel

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]
ANSWER = """```javascript
async function run(params) {
  const invoices = await list_invoices({ customer_id: 7 });
  const open = invoices.filter((invoice) => invoice.status === "open");
  for (const invoice of open) {
    await write_off({ invoice_id: invoice.id, amount_cents: invoice.amount_cents });
  }
  return { written_off: open.length };
}
```"""


def blocks() -> dict[str, str]:
    """The code blocks that begin with their file's name, by that name."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^```\w+\n# (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return dict(found)


def test_the_example_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = blocks()
    assert set(files) == {"shop.py", "rules.yaml", "ask.py"}
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    lines: list[str] = []
    with ScriptedModel(answer=lambda _: Answer(ANSWER)) as model:
        environment = {"VARDY_FUNCTIONS": "shop:functions", "VARDY_RULES": "rules.yaml", **model.environment()}
        with Stack(
            data_dir=tmp_path / "data", show=lambda _, line: lines.append(line), environment=environment
        ) as stack:
            done = subprocess.run(
                [sys.executable, "ask.py"],
                env={**os.environ, "VARDY_URL": stack.url, "VARDY_API_KEY": stack.api_key},
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
    assert done.returncode == 0, done.stderr + "\n".join(lines[-20:])
    assert done.stdout.splitlines() == [
        "PENDING_APPROVAL",
        "write_off {'amount_cents': 12000, 'invoice_id': 1} approve Accounting approves what we give up.",
        "write_off {'amount_cents': 2500, 'invoice_id': 2} approve Accounting approves what we give up.",
        "SUCCESS {'written_off': 2}",
    ]

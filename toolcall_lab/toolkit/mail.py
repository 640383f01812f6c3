"""`draft_mail`: writes a mail as a file, for a person to read and send. It can't send anything."""

from __future__ import annotations

import os
import re
from email.message import EmailMessage
from pathlib import Path
from typing import Annotated

from ..tools import Tool, tool


def mail(folder: str | os.PathLike[str]) -> Tool:
    """The tool `draft_mail`; drafts are `.eml` files in `folder`, which any mail program opens."""
    root = Path(folder).resolve(strict=True)

    @tool
    def draft_mail(
        to: Annotated[str, "The address"],
        subject: Annotated[str, "The subject line"],
        body: Annotated[str, "The text"],
    ) -> str:
        """Writes a draft of an e-mail; a person decides whether to send it."""
        message = EmailMessage()
        message["To"], message["Subject"], message["X-Unsent"] = to, subject, "1"
        message.set_content(body)
        name = re.sub(r"\W+", "-", subject.casefold()).strip("-")[:40] or "draft"
        path = next(
            path
            for number in range(1, 10_000)
            if not (path := root / f"{name}-{number}.eml").exists()
        )
        path.write_bytes(message.as_bytes())
        return f"draft written to {path.name}; nothing was sent"

    return draft_mail

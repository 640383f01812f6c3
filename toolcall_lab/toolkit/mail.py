"""`draft_mail`: writes a mail as a file, for a person to read and send. It can't send anything.

`list_mails` and `read_mail` read a mailbox; the shipped one was written for the course. What a mail
says is somebody else's text: data, whatever it asks for.
"""

from __future__ import annotations

import mailbox
import os
import re
from email import message_from_bytes, policy
from email.message import EmailMessage
from importlib.resources import as_file, files
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


def inbox(path: str | os.PathLike[str] | None = None) -> list[Tool]:
    """The tools `list_mails` and `read_mail`, on the mbox file at `path`, or the course's own."""
    mails = mails_of(path)

    @tool
    def list_mails() -> str:
        """Lists the mails: number, date, sender, subject."""
        return "\n".join(
            f"{number}. {mail['Date'].datetime.date()} {mail['From']}: {mail['Subject']}"
            for number, mail in enumerate(mails, 1)
        )

    @tool
    def read_mail(number: Annotated[int, "The mail's number in the list"]) -> str:
        """Reads a mail."""
        if not 1 <= number <= len(mails):
            raise LookupError(f"there is no mail {number}; list_mails shows {len(mails)}")
        mail = mails[number - 1]
        body = mail.get_body(("plain",))
        text = body.get_content() if body is not None else "(no text)"
        return f"From: {mail['From']}\nSubject: {mail['Subject']}\n\n{text.strip()}"

    return [list_mails, read_mail]


def mails_of(path: str | os.PathLike[str] | None) -> list[EmailMessage]:
    """The mails of an mbox file. Raises `FileNotFoundError`."""
    if path is None:
        with as_file(files(__package__) / "inbox.mbox") as shipped:
            return mails_of(shipped)
    try:
        box = mailbox.mbox(path, create=False)
    except mailbox.NoSuchMailboxError:
        raise FileNotFoundError(f"there is no mailbox {path}") from None
    raw = [box.get_bytes(key) for key in box.keys()]  # noqa: SIM118
    box.close()
    return [message_from_bytes(mail, policy=policy.default) for mail in raw]

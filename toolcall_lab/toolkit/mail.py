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
            f"{number}. {_date(mail)} {_header(mail, 'From')}: {_header(mail, 'Subject')}"
            for number, mail in enumerate(mails, 1)
        )

    @tool
    def read_mail(number: Annotated[int, "The mail's number in the list"]) -> str:
        """Reads a mail."""
        if not 1 <= number <= len(mails):
            raise LookupError(f"there is no mail {number}; list_mails shows {len(mails)}")
        mail = mails[number - 1]
        head = f"From: {_header(mail, 'From')}\nSubject: {_header(mail, 'Subject')}"
        return f"{head}\n\n{_text(mail).strip()}"

    return [list_mails, read_mail]


def _header(mail: EmailMessage, name: str) -> str:
    """A header on one line, so that it can't look like another one; however odd it is."""
    try:
        value = str(mail[name] or "")
    except Exception:  # Python's parser gives up on some in its own ways
        value = ""
    return " ".join(value.split()) or f"(no {name.lower()})"


def _date(mail: EmailMessage) -> str:
    try:
        return str(mail["Date"].datetime.date())
    except Exception:
        return "(no date)"


def _text(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    if body is None:
        return "(no text)"
    try:
        return str(body.get_content())
    except (LookupError, ValueError):  # a charset that nobody knows
        return bytes(body.get_payload(decode=True) or b"").decode("utf-8", "replace")


def mails_of(path: str | os.PathLike[str] | None) -> list[EmailMessage]:
    """The mails of an mbox file. Raises `FileNotFoundError`."""
    if path is None:
        with as_file(files(__package__) / "inbox.mbox") as shipped:
            return mails_of(shipped)
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no mailbox {path}")
    box = mailbox.mbox(path, create=False)
    raw = [box.get_bytes(key) for key in box.keys()]  # noqa: SIM118
    box.close()
    return [message_from_bytes(mail, policy=policy.default) for mail in raw]

"""The errors that this package raises: each says what happened and what to do about it."""


class ToolcallLabError(Exception):
    """Any error of this package."""


class ModelError(ToolcallLabError):
    """A model that can't be loaded or called as asked."""


class ToolError(ToolcallLabError):
    """A tool that can't be defined as written (a failed *call* is a result, not an error)."""


class ConstraintError(ToolcallLabError):
    """A schema or grammar that can't constrain a completion."""


class RoomError(ConstraintError):
    """There is no room for what a constraint asks for."""


class Stopped(KeyboardInterrupt):
    """What somebody does who presses Stop: an interrupt, for the thread in which a model runs."""

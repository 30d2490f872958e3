"""`python -m tapelens`: the command of this environment, even if PATH has another one first."""

import os
import sys

from tapelens import _installed
from tapelens._errors import Error

if __name__ == "__main__":
    try:
        command = str(_installed.program())
    except Error as wrong:
        sys.exit(f"tapelens: {wrong}")
    os.execv(command, [command, *sys.argv[1:]])

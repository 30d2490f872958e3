"""Cells of a notebook with %%tapelens, run in IPython's own shell: notebook.py."""

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
shell.run_cell("x = 3")
shell.run_line_magic("load_ext", "tapelens")
with capture_output() as shown:
    shell.run_cell_magic("tapelens", "--height 300", "import torch\nkept = torch.ones(1 << 20)\nprint('in the cell', 'x' in globals())\n")
print(shown.stdout, end="")
print(shown.stderr, end="")
for output in shown.outputs:
    page = output.data["text/html"]
    print("page", page.startswith("<div><iframe sandbox="), "height: 300px" in page, "&lt;html" in page, "cell.py" in page)

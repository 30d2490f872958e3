"""Run by gdb: prints the number of the probe's functions in a namespace, and the name of each function that the program
enters."""

import os

import gdb

NAMESPACE = os.environ["TAPELENS_TEST_NAMESPACE"]

for setting in ("pagination off", "confirm off", "auto-solib-add off"):
    gdb.execute("set " + setting)
gdb.execute("catch load probe", to_string=True)
gdb.execute("run", to_string=True)
gdb.execute("delete")
gdb.execute("sharedlibrary probe", to_string=True)
functions = {}  # by address
for line in gdb.execute("info functions ^" + NAMESPACE, to_string=True).splitlines():
    address, _, name = line.partition("  ")
    if address.startswith("0x"):
        functions["*" + address] = name
entered = set()


class Entered(gdb.Breakpoint):
    def stop(self):
        entered.add(functions[self.location])
        self.enabled = False
        return False


for address in functions:
    Entered(address, internal=True)
gdb.execute("continue", to_string=True)
print("functions:", len(functions))
for name in sorted(entered):
    print("entered:", name)

"""The parts of NVML that the benches use, by ctypes: the memory in use of a GPU, by all processes, and the driver's
version. With `tapelens run --gpu`, the simulated library is loaded. Needs only Python."""

import ctypes


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Nvml:
    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.ask("nvmlInit_v2")

    def ask(self, function, *arguments):
        code = getattr(self.library, function)(*arguments)
        if code != 0:
            raise OSError(f"{function} answered {code}")

    def memory(self, gpu=0):
        device, memory = ctypes.c_void_p(), Memory()
        self.ask("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(gpu), ctypes.byref(device))
        self.ask("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory))
        return memory

    def driver(self):
        text = ctypes.create_string_buffer(96)
        self.ask("nvmlSystemGetDriverVersion", text, ctypes.c_uint(len(text)))
        return text.value.decode()


def driver_version():
    """None without NVML."""
    try:
        return Nvml().driver()
    except (OSError, AttributeError):
        return None

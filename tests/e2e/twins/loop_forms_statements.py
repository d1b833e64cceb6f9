"""The same program in its other form."""
import importlib.util
from pathlib import Path

spec = importlib.util.spec_from_file_location("twin_loop_forms_other", Path(__file__).with_name("loop_forms.py"))
other = importlib.util.module_from_spec(spec)
spec.loader.exec_module(other)
twin = other.twin

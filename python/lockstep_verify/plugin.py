"""The plugin of pytest: that of the module lockstep, unless another module has its
name."""
import pytest

import lockstep_verify

_WHY = lockstep_verify.foreign()
if _WHY:
    raise pytest.UsageError(_WHY)

from lockstep.pytest_plugin import *

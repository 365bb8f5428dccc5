#!/usr/bin/env python3
"""TestModes.py over compact stores, and every session of it through pack and
unpack: make test-compact does that with all tests.
"""
# Takes long.

import os
import sys

TEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'TestModes.py')

environment = {name: value for name, value in os.environ.items()
               if name != 'TRACER_LONG'}
environment.update(TEST_MODE='compact', TEST_ROUND_TRIP='1')
os.execve(TEST, [TEST, *sys.argv[1:]], environment)

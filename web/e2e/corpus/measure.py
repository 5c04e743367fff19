"""measure.py NAME PROGRAM [ARGUMENT...] runs a program under a name, without its output, and says what it took."""
import json
import resource
import subprocess
import sys
import time

began = time.monotonic()
code = subprocess.run([sys.argv[1], *sys.argv[3:]], executable=sys.argv[2], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
print(json.dumps({"code": code, "seconds": time.monotonic() - began, "mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024}))

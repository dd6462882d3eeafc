"""llama.cpp's HTTP server out of the xllamacpp module, with llama-server's own flags.

Started through the script that tools/fetch_server.sh writes. Requests are answered by the module's
C++ server; Python only sets it up and waits for the end.
"""
import argparse
import signal

import xllamacpp

parser = argparse.ArgumentParser(prog="llama-server")
parser.add_argument("-m", "--model", required=True)
parser.add_argument("-c", "--ctx-size", type=int, default=4096)
parser.add_argument("-np", "--parallel", type=int, default=1)
parser.add_argument("-t", "--threads", type=int, required=True)
parser.add_argument("--host", default="127.0.0.1")
parser.add_argument("--port", type=int, default=8080)
parser.add_argument("-a", "--alias", required=True)
args = parser.parse_args()

params = xllamacpp.CommonParams()
params.model.path = args.model
params.model_alias = [args.alias]
params.n_ctx = args.ctx_size
params.n_parallel = args.parallel
params.cpuparams.n_threads = args.threads
params.cpuparams_batch.n_threads = args.threads
params.hostnames = [args.host]
params.port = args.port

signal.signal(signal.SIGTERM, signal.SIG_DFL)
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
while True:
    signal.pause()

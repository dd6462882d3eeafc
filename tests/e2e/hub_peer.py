"""The hub's own Python client against a hub: writes and reads as people's scripts do.

hub_peer.py write ENDPOINT TOKEN    commits a shard and an index in one commit, then prints the commit
hub_peer.py read ENDPOINT TOKEN     prints the listing and the bytes of every file, as hex
"""
import os
import sys
import tempfile

verb, endpoint, token = sys.argv[1:4]
os.environ["HF_ENDPOINT"] = endpoint
os.environ["HF_HUB_DISABLE_XET"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HOME"] = tempfile.mkdtemp()
from huggingface_hub import CommitOperationAdd, HfApi  # noqa: E402  (reads the environment when imported)

api = HfApi(endpoint=endpoint, token=token)
repository = {"repo_id": "acme/results", "repo_type": "dataset"}
if verb == "write":
    files = {"data/run-peer.parquet": b"PAR1 peer" * 1000, "metadata/peer.json": b"{}"}
    done = api.create_commit(
        operations=[CommitOperationAdd(path, content) for path, content in files.items()],
        commit_message="by the hub's own client",
        parent_commit=api.repo_info(**repository).sha,
        **repository,
    )
    print(done.oid)
elif verb == "read":
    for item in api.list_repo_tree(path_in_repo="data", recursive=True, **repository):
        local = api.hf_hub_download(filename=item.path, **repository)
        with open(local, "rb") as file:
            print(item.path, item.size, file.read().hex())

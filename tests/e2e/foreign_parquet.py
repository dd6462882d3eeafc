"""Parquet through readers and writers that are not ours (pyarrow, DuckDB).

    foreign_parquet.py read  pyarrow|duckdb FILE          columns with types, then one JSON line a row, NULL left out
    foreign_parquet.py write pyarrow|duckdb SHAPE FILE    upstream | oldest | types
"""
import json
import sys


def rows_of(names, columns):
    for values in zip(*columns):
        print(json.dumps({name: value for name, value in zip(names, values) if value is not None}))


def read_pyarrow(path):
    import pyarrow.parquet as parquet

    table = parquet.read_table(path)
    print(json.dumps([[field.name, str(field.type)] for field in table.schema]))
    used = [name for name in table.column_names if table.column(name).null_count < table.num_rows]
    print(json.dumps({"footer": {key.decode(): value.decode() for key, value in table.schema.metadata.items()}}))
    rows_of(used, [table.column(name).to_pylist() for name in used])


def read_duckdb(path):
    import duckdb

    connection = duckdb.connect()
    described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [path]).fetchall()
    print(json.dumps([[row[0], row[1]] for row in described]))
    footer = connection.execute("SELECT key, value FROM parquet_kv_metadata(?)", [path]).fetchall()
    text = lambda data: data.decode() if isinstance(data, bytes) else str(data)
    print(json.dumps({"footer": {text(key): text(value) for key, value in footer}}))
    result = connection.execute("SELECT * FROM read_parquet(?)", [path])
    names = [column[0] for column in result.description]
    for row in result.fetchall():
        print(json.dumps({name: value for name, value in zip(names, row) if value is not None}))


# The figures that the test expects, as SQL; pyarrow writes the same through its own types.
SHAPES = {
    "upstream": [
        ("schema_version", "VARCHAR", ["1", "1"]),
        ("timestamp", "VARCHAR", ["2026-04-24T18:30:00Z", "2026-04-24T18:30:00Z"]),
        ("memory_gb", "BIGINT", [128, 128]),
        ("name", "VARCHAR", ["gsm8k", "gsm8k"]),
        ("metric", "VARCHAR", ["exact_match", "naïve ✓"]),
        ("value", "DOUBLE", [0.1, None]),
        ("unit", "VARCHAR", ["ratio", ""]),
        ("tag_not_ours", "VARCHAR", ["x", None]),
    ],
    "oldest": [
        ("timestamp", "VARCHAR", ["2026-04-24T18:30:00Z"]),
        ("metric_name", "VARCHAR", ["gsm8k"]),
        ("metric_metric", "VARCHAR", ["acc"]),
        ("metric_value", "DOUBLE", [0.5]),
        ("metric_unit", "VARCHAR", ["ratio"]),
    ],
    "types": [
        ("seed", "BIGINT", [-(2**63), 2**63 - 1, None]),
        ("concurrency", "INTEGER", [-(2**31), 2**31 - 1, None]),
        ("value", "DOUBLE", [5e-324, -1.7976931348623157e308, None]),
        ("duration_seconds", "FLOAT", [0.5, -0.25, None]),
        ("skipped", "BOOLEAN", [True, False, None]),
        ("name", "VARCHAR", ["", "𝛼 \" \\ \n", None]),
    ],
}


def write_pyarrow(shape, path):
    import pyarrow
    import pyarrow.parquet as parquet

    types = {"VARCHAR": pyarrow.string(), "BIGINT": pyarrow.int64(), "INTEGER": pyarrow.int32(),
             "DOUBLE": pyarrow.float64(), "FLOAT": pyarrow.float32(), "BOOLEAN": pyarrow.bool_()}
    table = pyarrow.table({name: pyarrow.array(values, types[kind]) for name, kind, values in SHAPES[shape]})
    parquet.write_table(table, path, compression="snappy", data_page_version="2.0", row_group_size=1,
                        use_dictionary=True)


def write_duckdb(shape, path):
    import duckdb

    connection = duckdb.connect()
    columns = SHAPES[shape]
    connection.execute("CREATE TABLE t (%s)" % ", ".join('"%s" %s' % (name, kind) for name, kind, _ in columns))
    for row in zip(*(values for _, _, values in columns)):
        connection.execute("INSERT INTO t VALUES (%s)" % ", ".join("?" for _ in row), list(row))
    connection.execute("COPY t TO '%s' (FORMAT PARQUET, COMPRESSION GZIP)" % path)


if __name__ == "__main__":
    verb, tool = sys.argv[1], sys.argv[2]
    if verb == "read":
        {"pyarrow": read_pyarrow, "duckdb": read_duckdb}[tool](sys.argv[3])
    else:
        {"pyarrow": write_pyarrow, "duckdb": write_duckdb}[tool](sys.argv[3], sys.argv[4])

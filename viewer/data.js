// Bytes to columns: the index (served, exported beside the page, or embedded in it) and single shards.
//
// In:     nothing but the page's own origin or its own text; no other host is ever asked
// Errors  Error with a sentence for the reader
import { IndexError } from "./columns.js";

const kMaxRows = 5000;

/** The index JSON. `fresh` asks the server to list its store again. */
export async function loadIndex({ fresh = false } = {}) {
  const embedded = document.getElementById("assay-index");
  if (embedded) return JSON.parse(embedded.textContent);
  let problem = "";
  for (const address of [fresh ? "api/index?refresh=1" : "api/index", "api/index.json"]) {
    try {
      const reply = await fetch(address, { cache: fresh ? "reload" : "no-cache" });
      if (!reply.ok) {
        problem ||= `${address} answered ${reply.status}`;
        continue;
      }
      return await reply.json();
    } catch (error) {
      problem ||= `${address}: ${error.message}`;
    }
  }
  throw new IndexError(`INDEX-ABSENT: no index could be read (${problem})`);
}

export const isEmbedded = () => document.getElementById("assay-index") !== null;

/** The bytes of a shard by its file name. */
export async function loadShardBytes(name) {
  if (isEmbedded()) {
    for (const element of document.querySelectorAll("script[data-shard]")) {
      if (element.dataset.shard !== name) continue;
      const text = atob(element.textContent.trim());
      return Uint8Array.from(text, (c) => c.charCodeAt(0)).buffer;
    }
    throw new Error("This file was exported without its shards: the index is all it holds.");
  }
  const file = encodeURIComponent(name);
  for (const address of [`api/shards/${file}`, `shards/${file}`]) {
    const reply = await fetch(address).catch(() => null);
    if (reply && reply.ok && !(reply.headers.get("content-type") ?? "").startsWith("text/html")) return reply.arrayBuffer();
  }
  throw new Error(`The shard ${name} is not there any more. Reload the index.`);
}

/** SHA-256 as hex, or null where the browser offers none. */
export async function sha256(bytes) {
  if (!globalThis.crypto?.subtle) return null;
  const digest = await crypto.subtle.digest("SHA-256", typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const plain = (value) => {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  return value;
};

/**
 * A shard's rows and footer. The reader is fetched when the first shard is opened: charts do not need it.
 * returns {columns [names], rows [objects], count, envelope [text or null], envelopeSha256}
 */
export async function readShard(buffer) {
  const [{ parquetMetadata }, { parquetReadObjects }, { decompress }, { gunzip }, { decompressBrotli }, { decompressLz4, decompressLz4Raw }] =
    await Promise.all([import("./hyparquet_metadata.js"), import("./hyparquet_read.js"), import("./fzstd.js"),
      import("./hyparquet-compressors_gzip.js"), import("./hyparquet-compressors_brotli.js"), import("./hyparquet-compressors_lz4.js")]);
  const compressors = {
    ZSTD: (input) => decompress(input),
    GZIP: (input, length) => gunzip(input, new Uint8Array(length)),
    BROTLI: decompressBrotli,
    LZ4: decompressLz4,
    LZ4_RAW: decompressLz4Raw,
  };
  let metadata;
  try {
    metadata = parquetMetadata(buffer);
  } catch (error) {
    throw new Error(`The shard's bytes are no readable Parquet file: ${error.message}`);
  }
  const footer = Object.fromEntries((metadata.key_value_metadata ?? []).map(({ key, value }) => [key, value]));
  const count = Number(metadata.num_rows);
  const objects = await parquetReadObjects({ file: buffer, metadata, compressors, rowEnd: Math.min(count, kMaxRows) });
  const rows = objects.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, plain(value)])));
  const columns = metadata.schema.slice(1).map((element) => element.name);
  return { columns, rows, count, cut: count > kMaxRows, envelope: footer.envelope ?? null, envelopeSha256: footer.envelope_sha256 ?? null };
}

// Serves the page and one index from this process: what the tests drive while no program of ours is involved.
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const kRoot = fileURLToPath(new URL("../../", import.meta.url));
export const kFolders = [join(kRoot, "viewer"), join(kRoot, "build/page")];
const kTypes = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };
const kPolicy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** index: object or text, or a function giving one. shards: {name: path}. Returns {url, requests, close}. */
export async function servePage({ index, shards = {} }) {
  const requests = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://x").pathname);
    requests.push(path);
    const send = (status, type, body) => {
      response.writeHead(status, { "content-type": type, "content-security-policy": kPolicy, "cache-control": "no-store" });
      response.end(body);
    };
    if (path === "/api/index") {
      const value = typeof index === "function" ? index() : index;
      if (value === null) return send(503, "text/plain", "no index");
      return send(200, "application/json", typeof value === "string" ? value : JSON.stringify(value));
    }
    if (path.startsWith("/api/shards/")) {
      const file = shards[path.slice("/api/shards/".length)];
      if (!file) return send(404, "text/plain", "no such shard");
      response.writeHead(200, { "content-type": "application/vnd.apache.parquet", "content-security-policy": kPolicy });
      return createReadStream(file).pipe(response);
    }
    const name = path === "/" ? "index.html" : basename(path);
    for (const folder of kFolders) {
      const file = join(folder, name);
      if (extname(name) in kTypes && existsSync(file) && statSync(file).isFile()) return send(200, kTypes[extname(name)], readFileSync(file));
    }
    send(404, "text/plain", "not found");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, requests,
    close: () => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }) };
}

/** Serves a folder as any web server would: what an export into a folder is for. */
export async function serveFolder(folder) {
  const server = createServer((request, response) => {
    const path = join(folder, decodeURIComponent(new URL(request.url, "http://x").pathname.replace(/\/$/, "/index.html")));
    if (!path.startsWith(folder) || !existsSync(path)) {
      response.writeHead(404);
      return response.end();
    }
    response.writeHead(200, { "content-type": kTypes[extname(path)] ?? "application/octet-stream" });
    createReadStream(path).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }) };
}

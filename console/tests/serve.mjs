// Serves the built console below /console/ with its headers, and passes everything else on to a service.
//
//   node tests/serve.mjs DIST_DIR SERVICE_URL [PORT]

import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const CSP = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

function loadFiles(dist) {
  const files = new Map();
  for (const { path, content_type, immutable } of JSON.parse(readFileSync(join(dist, "files.json"), "utf8"))) {
    const headers = {
      "Content-Type": content_type,
      "Cache-Control": immutable ? "public, max-age=31536000, immutable" : "no-cache",
      "Content-Security-Policy": CSP,
      "Cross-Origin-Opener-Policy": "same-origin",
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
    };
    files.set(`/console/${path === "index.html" ? "" : path}`, { headers, body: readFileSync(join(dist, path)) });
  }
  return files;
}

/** Passes a request on, and the answer back as it comes. */
function forward(from, to, service) {
  const { hostname, port } = new URL(service());
  const onward = request({ hostname, port, method: from.method, path: from.url, headers: from.headers }, answer => {
    to.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders();
    answer.pipe(to);
  });
  onward.on("error", () => (to.headersSent ? to.destroy() : to.writeHead(502).end()));
  to.on("close", () => onward.destroy());
  from.pipe(onward);
}

/** Starts the server. `service` returns the address of the service; `answer` may answer requests itself. */
export function serve(dist, service, { port = 0, answer } = {}) {
  const files = loadFiles(dist);
  const server = createServer((from, to) => {
    const path = from.url.split("?")[0];
    const file = files.get(path);
    if (file !== undefined) return to.writeHead(200, file.headers).end(file.body);
    if (path === "/" || path === "/console") return to.writeHead(302, { Location: "/console/" }).end();
    if (answer?.(from, to) === true) return undefined;
    return forward(from, to, service);
  });
  return new Promise(resolve => {
    server.listen(port, "127.0.0.1", () => resolve({ server, url: `http://127.0.0.1:${server.address().port}` }));
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [dist = "dist", service = "http://127.0.0.1:8081", port = "8090"] = process.argv.slice(2);
  const { url } = await serve(dist, () => service, { port: Number(port) });
  console.log(`${url}/console/`);
}

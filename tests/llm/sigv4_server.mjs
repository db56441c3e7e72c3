// SPDX-License-Identifier: Apache-2.0
// Believes a request signed in the way of Amazon (SigV4) only if two implementations that were not
// written here make the same signature: sigv4_server.mjs PORT PACKAGES ID SECRET [TOKEN]
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { createHash, createHmac } from "node:crypto";

const [port, packages, accessKeyId, secretAccessKey, sessionToken] = process.argv.slice(2);
const require = createRequire(packages + "/");
const { SignatureV4 } = require("@smithy/signature-v4");
const aws4 = require("aws4");

// What the SDK's signer hashes with; by node itself.
class Sha256 {
  constructor(secret) {
    this.hash = secret ? createHmac("sha256", secret) : createHash("sha256");
  }
  update(bytes) {
    this.hash.update(bytes);
  }
  async digest() {
    return new Uint8Array(this.hash.digest());
  }
}

function signedHeaders(request) {
  const names = /SignedHeaders=([^,]+),/.exec(request.headers.authorization)[1].split(";");
  return Object.fromEntries(names.map((name) => [name, request.headers[name]]));
}

async function byTheSdk(request, body, region, date) {
  const signer = new SignatureV4({
    service: "bedrock", region, sha256: Sha256, applyChecksum: false,
    credentials: { accessKeyId, secretAccessKey, sessionToken },
  });
  const url = new URL(request.url, "http://host");
  const signed = await signer.sign(
    { method: request.method, protocol: "http:", hostname: "host", path: url.pathname,
      query: Object.fromEntries(url.searchParams), headers: signedHeaders(request), body },
    { signingDate: date });
  return signed.headers.authorization;
}

function byAws4(request, body, region) {
  const headers = signedHeaders(request);
  const only = { service: "bedrock", region, method: request.method, path: request.url, body,
                 headers, host: headers.host, extraHeadersToIgnore: { "content-length": true } };
  return aws4.sign(only, { accessKeyId, secretAccessKey, sessionToken }).headers.Authorization;
}

async function objection(request, body) {
  const said = request.headers.authorization ?? "";
  const scope = /Credential=[^/]+\/\d+\/([^/]+)\/bedrock\/aws4_request/.exec(said);
  if (!scope) return "no signature: " + said;
  if (request.headers["x-amz-security-token"] !== sessionToken) return "another session token";
  const stamp = request.headers["x-amz-date"].replace(
    /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, "$1-$2-$3T$4:$5:$6Z");
  const date = new Date(stamp);
  if (!(Math.abs(Date.now() - date) < 60_000)) return "the time is wrong: " + stamp;
  const makers = { sdk: await byTheSdk(request, body, scope[1], date),
                   aws4: byAws4(request, body, scope[1]) };
  for (const [name, made] of Object.entries(makers))
    if (made !== said) return `${name} signs ${made}, not ${said}`;
  return "";
}

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const why = await objection(request, Buffer.concat(parts).toString()).catch(String);
  const answer = why
    ? { message: why }
    : { output: { message: { role: "assistant", content: [{ text: `signed ${request.url}` }] } },
        stopReason: "end_turn", usage: { inputTokens: 3, outputTokens: 2 } };
  response.writeHead(why ? 403 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(answer));
}).listen(Number(port), "127.0.0.1");

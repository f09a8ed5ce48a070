import { mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))

export interface Bundle {
  file: string
  remove: () => void
}

/** A module with all that it loads at once in few files, from the sources: a hundred processes start quickly with it. */
export async function bundle(entry: string): Promise<Bundle> {
  const folder = mkdtempSync(path.join(PACKAGE, 'node_modules/.bundle-'))
  await build({
    ...{
      entryPoints: { bundle: path.join(PACKAGE, entry) },
      outdir: folder,
      bundle: true,
      logLevel: 'silent',
    },
    ...{ format: 'esm', platform: 'node', target: 'node20.19', conditions: ['@chirality/source'] },
    ...{ splitting: true, outExtension: { '.js': '.mjs' }, minifyWhitespace: true, minifySyntax: true },
    external: ['@anthropic-ai/*'],
    banner: { js: REQUIRE },
  })
  return {
    file: path.join(folder, 'bundle.mjs'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Some of what is bundled was written for CommonJS. */
const REQUIRE =
  "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);"

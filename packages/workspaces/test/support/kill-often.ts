import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** How often a test kills its program: enough for a plain run, or as often as the specification asks for. */
export const KILLS = process.env.CHIRALITY_TEST_ALL === undefined ? 3 : 200

export interface KilledProgram {
  /** In `test/programs`. It prints a line when it has recovered from the kill before, and then works until it is killed. */
  program: string
  args: string[]
  /** For the bundle. */
  folder: string
  /** A kill comes at a random moment until then, after the program is ready. */
  withinMs: number
}

/** Starts a program and kills it, again and again. */
export async function killOften({ program, args, folder, withinMs }: KilledProgram): Promise<void> {
  const bundle = path.join(folder, 'bundle', program.replace(/\.ts$/, '.mjs'))
  mkdirSync(path.dirname(bundle), { recursive: true })
  // Compiled once: with a loader each of 200 starts would compile all sources, which takes seconds.
  await build({
    entryPoints: [fileURLToPath(new URL(`../programs/${program}`, import.meta.url))],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'node',
    conditions: ['@chirality/source'],
    // Some of what is bundled is CommonJS, and asks for Node's own modules with `require`.
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'\nconst require = makeRequire(import.meta.url)",
    },
    logLevel: 'warning',
  })
  for (let kill = 0; kill < KILLS; kill += 1) {
    const child = spawn(process.execPath, [bundle, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    const exited = once(child, 'exit')
    const isReady = await Promise.race([
      once(child.stdout, 'data').then(() => true),
      exited.then(() => false),
    ])
    if (!isReady) throw new Error(`${program} ended before its kill ${kill + 1}, with ${child.exitCode}.`)
    // The moment of the kill is random on purpose; what is asserted does not depend on it.
    await setTimeout(Math.random() * withinMs)
    child.kill('SIGKILL')
    await exited
  }
}

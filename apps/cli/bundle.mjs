// Bundles the command: most of the time that it takes to start would else go into finding and reading small files.
import { copyFileSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'

const here = import.meta.dirname
const dist = path.join(here, 'dist')
const packages = path.join(here, '..', '..', 'packages')
const agentSdk = path.join(packages, 'runner', 'src', 'agent-sdk')
const cageKeeper = path.join(packages, 'cage', 'src', 'keeper')

const common = {
  absWorkingDir: here,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  chunkNames: 'chunks/[name]-[hash]',
  external: ['@chirality/scripted-model'],
  // Less to read, with every name as it was: a stack trace still says where.
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: 'warning',
}

// Some of what is bundled is CommonJS, and asks for Node's own modules with `require`. Made when it does: that takes longer
// than loading most commands.
const banner = {
  js: "import { createRequire as makeRequire } from 'node:module'\nlet madeRequire\nconst require = id => (madeRequire ??= makeRequire(import.meta.url))(id)",
}

for (const folder of ['chunks', 'run', 'others'])
  rmSync(path.join(dist, folder), { recursive: true, force: true })
// Read before every command, so it holds none of them: not even what they share.
await build({
  ...common,
  entryPoints: ['src/main.ts'],
  outdir: dist,
  splitting: false,
  plugins: [commandsApart(), onlyWhatIsUsed()],
})
// What people wait for most often is one file with nothing in it that only other commands need.
await build({
  ...common,
  entryPoints: ['src/commands/run.ts'],
  outdir: path.join(dist, 'run'),
  // What it loads for a machine of a fleet.
  banner,
  plugins: [onlyWhatIsUsed(), yamlAsModules()],
})
await build({
  ...common,
  entryPoints: othersThanRun(),
  outdir: dist,
  entryNames: 'others/[name]',
  banner,
})
leaveOutUnused(path.join(dist, 'run'))
// A Worker is started from a file, which lies beside the code that starts it: that is in each of the two bundles.
for (const file of ['worker.mjs', 'bridged-process.mjs'])
  for (const folder of ['chunks', path.join('run', 'chunks')])
    copyFileSync(path.join(agentSdk, file), path.join(dist, folder, file))
// The keeper of a cage is a program of its own, beside the code that starts it: in a chunk, or in the command itself.
for (const folder of ['chunks', 'others', 'run', path.join('run', 'chunks')])
  cpSync(cageKeeper, path.join(dist, folder, 'keeper'), { recursive: true })

/**
 * An import without names only runs what it imports, and no module of ours does anything by being loaded. esbuild writes one for
 * every shared file that is within reach, also for the agents that a turn loads when it needs them.
 */
function leaveOutUnused(folder) {
  const files = [folder, path.join(folder, 'chunks')].flatMap(parent =>
    readdirSync(parent, { withFileTypes: true })
      .filter(entry => entry.isFile() && entry.name.endsWith('.js'))
      .map(entry => path.join(parent, entry.name)),
  )
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    writeFileSync(
      file,
      text.replace(/(^|;)import"\.\/(?:chunks\/)?chunk-\w+\.js"(?=;)/g, '$1').replace(/^;+/, ''),
    )
  }
}

/** No module of ours does anything by being loaded, so what is not used of a package can be left out. */
function onlyWhatIsUsed() {
  return {
    name: 'only-what-is-used',
    setup({ onResolve, resolve }) {
      onResolve({ filter: /^(\.|@chirality\/)/ }, async ({ path: specifier, pluginData, ...from }) => {
        if (pluginData === 'resolved' || from.kind === 'entry-point') return undefined
        if (from.importer.includes('node_modules')) return undefined
        const { importer, kind, resolveDir } = from
        const found = await resolve(specifier, { importer, kind, resolveDir, pluginData: 'resolved' })
        return { ...found, sideEffects: false }
      })
    },
  }
}

/** For Node it is CommonJS, which would need `require`; for browsers the same code is modules. */
function yamlAsModules() {
  return {
    name: 'yaml-as-modules',
    setup({ onResolve, resolve }) {
      onResolve({ filter: /^yaml$/ }, async ({ pluginData, importer, kind, resolveDir }) => {
        if (pluginData === 'resolved') return undefined
        const found = await resolve('yaml', { importer, kind, resolveDir, pluginData: 'resolved' })
        return { path: path.join(path.dirname(found.path), '..', 'browser', 'index.js') }
      })
    },
  }
}

/** What main.ts imports on demand, but for `run`. */
function othersThanRun() {
  const main = readFileSync(path.join(here, 'src', 'main.ts'), 'utf8')
  const imported = [...main.matchAll(/import\('\.\/([^']+)'\)/g)].map(([, file]) => `src/${file}`)
  return imported.filter(file => file !== 'src/commands/run.ts')
}

function commandsApart() {
  return {
    name: 'commands-apart',
    setup({ onResolve }) {
      onResolve({ filter: /^\.\// }, ({ path: file, kind }) => {
        if (kind !== 'dynamic-import') return undefined
        const name = path.basename(file, '.ts')
        return { path: `./${name === 'run' ? 'run' : 'others'}/${name}.js`, external: true }
      })
    },
  }
}

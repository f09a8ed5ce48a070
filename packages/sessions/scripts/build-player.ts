// Makes src/history/html/player.generated.ts from player/ and the reducer of core: `pnpm player`. The text is committed, so
// that an export needs no bundler, from sources, from dist and from the bundled command alike. A test compares.
import { writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

export const GENERATED_FILE = fileURLToPath(
  new URL('../src/history/html/player.generated.ts', import.meta.url),
)

/** The text that the generated file has to have. */
export async function buildPlayer(): Promise<string> {
  const script = await bundle('../player/main.ts')
  const style = await bundle('../player/player.css')
  return `// Made by scripts/build-player.ts. Do not edit: change player/ and run \`pnpm player\`.
// biome-ignore-all format: generated
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: generated
export const PLAYER_SCRIPT = ${JSON.stringify(script)}
export const PLAYER_STYLE = ${JSON.stringify(style)}
`
}

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    charset: 'ascii',
    conditions: ['@chirality/source'],
    legalComments: 'none',
    plugins: [withoutSideEffects],
  })
  return outputFiles[0]?.text.trim() ?? ''
}

/** Of core only the reducer is needed; without this the translators would come along. */
const withoutSideEffects: Plugin = {
  name: 'without-side-effects',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /.*/ }, async ({ path, pluginData, ...rest }) => {
      if (pluginData === 'resolved' || rest.kind === 'entry-point') return undefined
      const { importer, kind, resolveDir } = rest
      const found = await resolve(path, { importer, kind, resolveDir, pluginData: 'resolved' })
      return { ...found, sideEffects: false }
    })
  },
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  writeFileSync(GENERATED_FILE, await buildPlayer())

import { createHash } from 'node:crypto'
import path from 'node:path'
import { build, type Plugin, type Rolldown } from 'vite'
import type { BuildFacts } from './src/worker/worker-files.ts'

const SOURCE = path.join(import.meta.dirname, 'src/worker/service-worker.ts')

/** Writes `sw.js` beside the page: one classic script at a name that never changes, which knows the files of its build. */
export function serviceWorker(): Plugin {
  return {
    name: 'service-worker',
    apply: 'build',
    generateBundle: {
      order: 'post',
      async handler(_options, bundle) {
        const code = await bundleWorker()
        const facts = factsOf(Object.values(bundle), code)
        this.emitFile({
          ...{ type: 'asset', fileName: 'sw.js' },
          source: `const BUILD=${JSON.stringify(facts)};\n${code}`,
        })
      },
    },
  }
}

type BuiltFile = Rolldown.OutputChunk | Rolldown.OutputAsset

/** The version changes with every byte of the page and of the worker; what has a hash in its name is known by its name. */
function factsOf(built: readonly BuiltFile[], code: string): BuildFacts {
  const entry = built.find(file => file.type === 'chunk' && file.isEntry)?.fileName ?? ''
  const page = built.find(({ fileName }) => fileName === 'index.html')
  const files = built
    .map(({ fileName }) => `/${fileName}`)
    .filter(path => path.startsWith('/assets/'))
    .sort()
  const digest = createHash('sha256').update(files.join('\n')).update(textOf(page)).update(code)
  return { version: digest.digest('hex').slice(0, VERSION_CHARS), entry, files }
}

const VERSION_CHARS = 16

function textOf(file: BuiltFile | undefined): string | Uint8Array {
  if (file === undefined) return ''
  return file.type === 'chunk' ? file.code : file.source
}

async function bundleWorker(): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    build: {
      write: false,
      rolldownOptions: { input: SOURCE, output: { format: 'iife', entryFileNames: 'sw.js' } },
    },
  })
  const { output } = (Array.isArray(result) ? result[0] : result) as Rolldown.RolldownOutput
  return output[0].code
}
